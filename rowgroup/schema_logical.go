package rowgroup

import (
	"fmt"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
)

// leafField gives a leaf's values their meaning. Annotations that do not fit the physical type are
// ignored, as the format asks, except for decimals, whose values would be wrong without their
// scale.
func leafField(e *element) (column.Field, convert, error) {
	if e.logical.kind == logicalUnknown {
		return column.Field{Kind: column.Null, Type: column.TypeUnknown}, convertNone, nil
	}
	if e.isDecimal() {
		return decimalField(e)
	}
	switch format.Type(e.physical) {
	case format.Boolean:
		return fixedField(column.TypeBool, 1), convertNone, nil
	case format.Int32:
		f, conv := int32Field(e)
		return f, conv, nil
	case format.Int64:
		return int64Field(e), convertNone, nil
	case format.Int96:
		return fixedField(column.TypeInt96, 12), convertNone, nil
	case format.Float:
		return fixedField(column.TypeFloat32, 4), convertNone, nil
	case format.Double:
		return fixedField(column.TypeFloat64, 8), convertNone, nil
	case format.FixedLenByteArray:
		return fixedBinaryField(e), convertNone, nil
	}
	return column.Field{Kind: column.Binary, Type: binaryType(e)}, convertNone, nil
}

func fixedField(t column.Type, width int) column.Field {
	return column.Field{Kind: column.Fixed, Type: t, Width: width}
}

// has says whether an element carries a logical type or, in older files, the converted type.
func (e *element) has(kind uint8, converted int8) bool {
	return e.logical.kind == kind || e.logical.kind == 0 && e.converted == converted
}

func (e *element) isDecimal() bool {
	switch format.Type(e.physical) {
	case format.Int32, format.Int64, format.ByteArray, format.FixedLenByteArray:
		return e.has(logicalDecimal, convertedDecimal)
	}
	return false
}

func decimalField(e *element) (column.Field, convert, error) {
	if e.precision < 1 || e.scale < 0 || e.scale > e.precision {
		return column.Field{}, convertNone, fmt.Errorf("decimal of %d digits, %d of them fractional", e.precision, e.scale)
	}
	f := column.Field{Kind: column.Fixed, Type: column.TypeDecimal, Width: decimalWidth(int(e.precision)), Precision: int(e.precision), Scale: int(e.scale)}
	switch {
	case f.Width == 0:
		f.Kind = column.Binary
		if e.physical == int8(format.ByteArray) {
			return f, convertNone, nil
		}
	case f.Width == 8 && e.physical == int8(format.Int64):
		return f, convertNone, nil
	}
	return f, convertDecimal, nil
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

func int32Field(e *element) (column.Field, convert) {
	switch {
	case e.has(logicalDate, convertedDate):
		return fixedField(column.TypeDate, 4), convertNone
	case e.has(logicalTime, convertedTimeMillis):
		f := fixedField(column.TypeTime, 8)
		f.Unit, f.UTC = column.Milli, e.isUTC()
		return f, convertWidenInt
	}
	bits, signed := e.intBits()
	switch {
	case bits == 8 && signed:
		return fixedField(column.TypeInt8, 1), convertNarrow
	case bits == 16 && signed:
		return fixedField(column.TypeInt16, 2), convertNarrow
	case bits == 8:
		return fixedField(column.TypeUint8, 1), convertNarrow
	case bits == 16:
		return fixedField(column.TypeUint16, 2), convertNarrow
	case bits == 32 && !signed:
		return fixedField(column.TypeUint32, 4), convertNone
	}
	return fixedField(column.TypeInt32, 4), convertNone
}

func int64Field(e *element) column.Field {
	switch {
	case e.has(logicalTimestamp, convertedTimestampMillis), e.has(logicalTimestamp, convertedTimestampMicros):
		f := fixedField(column.TypeTimestamp, 8)
		f.Unit, f.UTC = e.timeUnit(convertedTimestampMillis), e.isUTC()
		return f
	case e.has(logicalTime, convertedTimeMicros):
		f := fixedField(column.TypeTime, 8)
		f.Unit, f.UTC = e.timeUnit(convertedTimeMillis), e.isUTC()
		return f
	}
	if bits, signed := e.intBits(); bits == 64 && !signed {
		return fixedField(column.TypeUint64, 8)
	}
	return fixedField(column.TypeInt64, 8)
}

// isUTC: the converted types of times and timestamps are adjusted to UTC, by the format's document.
func (e *element) isUTC() bool { return e.logical.kind == 0 || e.logical.utc }

// timeUnit is that of the logical type, or by the converted type of which millis is the one in
// milliseconds.
func (e *element) timeUnit(millis int8) column.Unit {
	switch {
	case e.logical.kind == 0 && e.converted == millis, e.logical.unit == 1:
		return column.Milli
	case e.logical.unit == 3:
		return column.Nano
	}
	return column.Micro
}

// intBits is the width that the annotation gives an integer; 0 when there is none.
func (e *element) intBits() (bits int, signed bool) {
	switch {
	case e.logical.kind == logicalInt:
		return int(e.logical.bits), e.logical.signed
	case e.logical.kind != 0:
		return 0, true
	case e.converted >= convertedUint8 && e.converted <= convertedUint64:
		return 8 << (e.converted - convertedUint8), false
	case e.converted >= convertedInt8 && e.converted <= convertedInt64:
		return 8 << (e.converted - convertedInt8), true
	}
	return 0, true
}

func fixedBinaryField(e *element) column.Field {
	width := int(e.typeLength)
	switch {
	case width == 16 && e.logical.kind == logicalUUID:
		return fixedField(column.TypeUUID, 16)
	case width == 2 && e.logical.kind == logicalFloat16:
		return fixedField(column.TypeFloat16, 2)
	case width == 12 && e.logical.kind == 0 && e.converted == convertedInterval:
		return fixedField(column.TypeInterval, 12)
	}
	return fixedField(column.TypeFixedBinary, width)
}

func binaryType(e *element) column.Type {
	switch {
	case e.has(logicalString, convertedUTF8):
		return column.TypeString
	case e.has(logicalEnum, convertedEnum):
		return column.TypeEnum
	case e.has(logicalJSON, convertedJSON):
		return column.TypeJSON
	case e.has(logicalBSON, convertedBSON):
		return column.TypeBSON
	}
	return column.TypeBinary
}
