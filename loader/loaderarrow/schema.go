package loaderarrow

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardfeed/shardfeed/column"
)

// Schema returns the Arrow schema of batches with these columns. Columns that the loader pads have
// another type in its batches: for these, take the type from the record.
func Schema(s *column.Schema) (*arrow.Schema, error) {
	fields, err := fieldsOf(s.Fields)
	if err != nil {
		return nil, err
	}
	return arrow.NewSchema(fields, nil), nil
}

func fieldsOf(all []*column.Field) ([]arrow.Field, error) {
	fields := make([]arrow.Field, len(all))
	for i, f := range all {
		var err error
		if fields[i], err = fieldOf(f); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

// uuid marks a field's values as UUIDs, as Arrow's readers know it.
var uuid = arrow.NewMetadata([]string{"ARROW:extension:name", "ARROW:extension:metadata"}, []string{"arrow.uuid", ""})

func fieldOf(f *column.Field) (arrow.Field, error) {
	t, err := typeOf(f)
	field := arrow.Field{Name: f.Name, Type: t, Nullable: f.Nullable || f.Kind == column.Null}
	if f.Type == column.TypeUUID {
		field.Metadata = uuid
	}
	return field, err
}

func typeOf(f *column.Field) (arrow.DataType, error) {
	switch f.Kind {
	case column.Null:
		return arrow.Null, nil
	case column.List:
		return listOf(f)
	case column.Map:
		return mapOf(f)
	case column.Struct:
		members, err := fieldsOf(f.Children)
		if err != nil {
			return nil, err
		}
		return arrow.StructOf(members...), nil
	case column.Binary:
		switch f.Type {
		case column.TypeString, column.TypeEnum, column.TypeJSON:
			return arrow.BinaryTypes.String, nil
		}
		return arrow.BinaryTypes.Binary, nil
	}
	return fixedOf(f)
}

func listOf(f *column.Field) (arrow.DataType, error) {
	items, err := fieldOf(f.Children[0])
	if err != nil {
		return nil, err
	}
	if f.ListSize > 0 {
		return arrow.FixedSizeListOfField(int32(f.ListSize), items), nil
	}
	return arrow.ListOfField(items), nil
}

// mapOf is the type of a map, and of a map without values, which Arrow lacks, a list of keys.
func mapOf(f *column.Field) (arrow.DataType, error) {
	pair, err := fieldsOf(f.Children[0].Children)
	if err != nil {
		return nil, err
	}
	if len(pair) != 2 {
		return listOf(f)
	}
	pair[0].Name, pair[0].Nullable, pair[1].Name = "key", false, "value"
	return arrow.MapOfFields(pair[0], pair[1]), nil
}

var numbers = map[column.Type]arrow.DataType{
	column.TypeBool: arrow.FixedWidthTypes.Boolean,
	column.TypeInt8: arrow.PrimitiveTypes.Int8, column.TypeInt16: arrow.PrimitiveTypes.Int16,
	column.TypeInt32: arrow.PrimitiveTypes.Int32, column.TypeInt64: arrow.PrimitiveTypes.Int64,
	column.TypeUint8: arrow.PrimitiveTypes.Uint8, column.TypeUint16: arrow.PrimitiveTypes.Uint16,
	column.TypeUint32: arrow.PrimitiveTypes.Uint32, column.TypeUint64: arrow.PrimitiveTypes.Uint64,
	column.TypeBFloat16: arrow.PrimitiveTypes.Uint16, // its bits
	column.TypeFloat16:  arrow.FixedWidthTypes.Float16, column.TypeFloat32: arrow.PrimitiveTypes.Float32,
	column.TypeFloat64: arrow.PrimitiveTypes.Float64,
	column.TypeDate:    arrow.PrimitiveTypes.Date32,
}

func fixedOf(f *column.Field) (arrow.DataType, error) {
	if t, ok := numbers[f.Type]; ok {
		return t, nil
	}
	switch f.Type {
	case column.TypeDecimal:
		if f.Width > 16 {
			return &arrow.Decimal256Type{Precision: int32(f.Precision), Scale: int32(f.Scale)}, nil
		}
		return &arrow.Decimal128Type{Precision: int32(f.Precision), Scale: int32(f.Scale)}, nil
	case column.TypeTime:
		if f.Unit == column.Milli {
			return arrow.FixedWidthTypes.Time32ms, nil
		}
		return &arrow.Time64Type{Unit: unitOf(f.Unit)}, nil
	case column.TypeTimestamp:
		t := &arrow.TimestampType{Unit: unitOf(f.Unit)}
		if f.UTC {
			t.TimeZone = "UTC"
		}
		return t, nil
	case column.TypeInterval, column.TypeUUID, column.TypeFixedBinary:
		return &arrow.FixedSizeBinaryType{ByteWidth: f.Width}, nil
	}
	return nil, fmt.Errorf("loaderarrow: column %q is %v, which has no Arrow type", f.Name, f)
}

func unitOf(u column.Unit) arrow.TimeUnit {
	return [...]arrow.TimeUnit{column.Milli: arrow.Millisecond, column.Micro: arrow.Microsecond, column.Nano: arrow.Nanosecond}[u]
}
