package schema

import (
	"fmt"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

// leafField gives a leaf's values their meaning. Annotations that do not fit the physical type are
// ignored, as the format asks, except for decimals, whose values would be wrong without their
// scale.
func leafField(e *parquet.Element) (column.Field, Convert, error) {
	if e.Logical.Kind == parquet.LogicalUnknown {
		return column.Field{Kind: column.Null, Type: column.TypeUnknown}, ConvertNone, nil
	}
	if e.IsDecimal() {
		return decimalField(e)
	}
	switch format.Type(e.Physical) {
	case format.Boolean:
		return fixedField(column.TypeBool, 1), ConvertNone, nil
	case format.Int32:
		f, conv := int32Field(e)
		return f, conv, nil
	case format.Int64:
		return int64Field(e), ConvertNone, nil
	case format.Int96:
		f := fixedField(column.TypeInt96, 12)
		f.Unit = column.Nano
		return f, ConvertNone, nil
	case format.Float:
		return fixedField(column.TypeFloat32, 4), ConvertNone, nil
	case format.Double:
		return fixedField(column.TypeFloat64, 8), ConvertNone, nil
	case format.FixedLenByteArray:
		return fixedBinaryField(e), ConvertNone, nil
	}
	return column.Field{Kind: column.Binary, Type: binaryType(e)}, ConvertNone, nil
}

func fixedField(t column.Type, width int) column.Field {
	return column.Field{Kind: column.Fixed, Type: t, Width: width}
}

func decimalField(e *parquet.Element) (column.Field, Convert, error) {
	if e.Precision < 1 || e.Scale < 0 || e.Scale > e.Precision {
		return column.Field{}, ConvertNone, fmt.Errorf("decimal of %d digits, %d of them fractional", e.Precision, e.Scale)
	}
	f := column.Field{Kind: column.Fixed, Type: column.TypeDecimal, Width: decimalWidth(int(e.Precision)), Precision: int(e.Precision), Scale: int(e.Scale)}
	switch {
	case f.Width == 0:
		f.Kind = column.Binary
		if e.Physical == int8(format.ByteArray) {
			return f, ConvertNone, nil
		}
	case f.Width == 8 && e.Physical == int8(format.Int64):
		return f, ConvertNone, nil
	}
	return f, ConvertDecimal, nil
}

// decimalWidth is the bytes of a decimal in memory; 0 means Binary.
func decimalWidth(precision int) int {
	switch {
	case precision <= 18:
		return 8
	case precision <= 38:
		return 16
	case precision <= 76:
		return 32
	}
	return 0
}

func int32Field(e *parquet.Element) (column.Field, Convert) {
	switch {
	case e.Has(parquet.LogicalDate, deprecated.Date):
		return fixedField(column.TypeDate, 4), ConvertNone
	case e.Has(parquet.LogicalTime, deprecated.TimeMillis):
		f := fixedField(column.TypeTime, 8)
		f.Unit, f.UTC = column.Milli, e.IsUTC()
		return f, ConvertWidenInt
	}
	bits, signed := e.IntBits()
	switch {
	case bits == 8 && signed:
		return fixedField(column.TypeInt8, 1), ConvertNarrow
	case bits == 16 && signed:
		return fixedField(column.TypeInt16, 2), ConvertNarrow
	case bits == 8:
		return fixedField(column.TypeUint8, 1), ConvertNarrow
	case bits == 16:
		return fixedField(column.TypeUint16, 2), ConvertNarrow
	case bits == 32 && !signed:
		return fixedField(column.TypeUint32, 4), ConvertNone
	}
	return fixedField(column.TypeInt32, 4), ConvertNone
}

func int64Field(e *parquet.Element) column.Field {
	switch {
	case e.Has(parquet.LogicalTimestamp, deprecated.TimestampMillis), e.Has(parquet.LogicalTimestamp, deprecated.TimestampMicros):
		f := fixedField(column.TypeTimestamp, 8)
		f.Unit, f.UTC = timeUnit(e, deprecated.TimestampMillis), e.IsUTC()
		return f
	case e.Has(parquet.LogicalTime, deprecated.TimeMicros):
		f := fixedField(column.TypeTime, 8)
		f.Unit, f.UTC = timeUnit(e, deprecated.TimeMillis), e.IsUTC()
		return f
	}
	if bits, signed := e.IntBits(); bits == 64 && !signed {
		return fixedField(column.TypeUint64, 8)
	}
	return fixedField(column.TypeInt64, 8)
}

// timeUnit returns the unit of the logical type, or else of the converted type, where millis is the
// converted type of milliseconds.
func timeUnit(e *parquet.Element, millis deprecated.ConvertedType) column.Unit {
	switch {
	case e.Logical.Kind == 0 && e.Converted == millis, e.Logical.Unit == 1:
		return column.Milli
	case e.Logical.Unit == 3:
		return column.Nano
	}
	return column.Micro
}

func fixedBinaryField(e *parquet.Element) column.Field {
	width := int(e.TypeLength)
	switch {
	case width == 16 && e.Logical.Kind == parquet.LogicalUUID:
		return fixedField(column.TypeUUID, 16)
	case width == 2 && e.Logical.Kind == parquet.LogicalFloat16:
		return fixedField(column.TypeFloat16, 2)
	case width == 12 && e.Logical.Kind == 0 && e.Converted == deprecated.Interval:
		return fixedField(column.TypeInterval, 12)
	}
	return fixedField(column.TypeFixedBinary, width)
}

func binaryType(e *parquet.Element) column.Type {
	switch {
	case e.Has(parquet.LogicalString, deprecated.UTF8):
		return column.TypeString
	case e.Has(parquet.LogicalEnum, deprecated.Enum):
		return column.TypeEnum
	case e.Has(parquet.LogicalJSON, deprecated.Json):
		return column.TypeJSON
	case e.Has(parquet.LogicalBSON, deprecated.Bson):
		return column.TypeBSON
	}
	return column.TypeBinary
}
