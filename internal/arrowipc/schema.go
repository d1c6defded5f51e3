package arrowipc

import (
	"fmt"

	"github.com/shardfeed/shardfeed/column"
)

// Members of the union Type of Schema.fbs.
const (
	typeNull            = 1
	typeInt             = 2
	typeFloatingPoint   = 3
	typeBinary          = 4
	typeUtf8            = 5
	typeBool            = 6
	typeDecimal         = 7
	typeDate            = 8
	typeTime            = 9
	typeTimestamp       = 10
	typeList            = 12
	typeStruct          = 13
	typeFixedSizeBinary = 15
	typeFixedSizeList   = 16
	typeMap             = 17
)

// schemaTable is the table Schema of these columns.
func schemaTable(fields []*column.Field) (table, error) {
	all, err := fieldTables(fields)
	return table{int16Of(0), to(all)}, err // little-endian
}

func fieldTables(fields []*column.Field) (tables, error) {
	all := make(tables, len(fields))
	for i, f := range fields {
		var err error
		if all[i], err = fieldTable(f); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// fieldTable is the table Field.
func fieldTable(f *column.Field) (table, error) {
	kind, typ, err := typeTable(f)
	if err != nil {
		return nil, err
	}
	children, err := fieldTables(childrenOf(f))
	if err != nil {
		return nil, err
	}
	t := table{to(text(f.Name)), boolOf(f.Nullable || f.Kind == column.Null), byteOf(kind), to(typ), {}, to(children)}
	if f.Type == column.TypeUUID {
		t = append(t, to(tables{
			{to(text("ARROW:extension:name")), to(text("arrow.uuid"))},
			{to(text("ARROW:extension:metadata")), to(text(""))},
		}))
	}
	return t, nil
}

// childrenOf returns the fields within a field, with Arrow's names for a map's.
func childrenOf(f *column.Field) []*column.Field {
	if !isMap(f) {
		return f.Children
	}
	entries, key, value := *f.Children[0], *f.Children[0].Children[0], *f.Children[0].Children[1]
	entries.Name, entries.Nullable = "entries", false
	key.Name, key.Nullable, value.Name = "key", false, "value"
	entries.Children = []*column.Field{&key, &value}
	return []*column.Field{&entries}
}

// isMap leaves out maps without values, which Arrow lacks: they are lists of keys.
func isMap(f *column.Field) bool {
	return f.Kind == column.Map && len(f.Children[0].Children) == 2
}

// typeTable is the member of the union Type, and its table.
func typeTable(f *column.Field) (kind int, t table, err error) {
	switch f.Kind {
	case column.Null:
		return typeNull, table{}, nil
	case column.Struct:
		return typeStruct, table{}, nil
	case column.List:
		if f.ListSize > 0 {
			return typeFixedSizeList, table{int32Of(f.ListSize)}, nil
		}
		return typeList, table{}, nil
	case column.Map:
		if isMap(f) {
			return typeMap, table{boolOf(false)}, nil
		}
		return typeList, table{}, nil
	case column.Binary:
		switch f.Type {
		case column.TypeString, column.TypeEnum, column.TypeJSON:
			return typeUtf8, table{}, nil
		}
		return typeBinary, table{}, nil
	}
	return fixedTable(f)
}

func fixedTable(f *column.Field) (kind int, t table, err error) {
	unit := int(f.Unit) + 1 // after seconds
	switch f.Type {
	case column.TypeBool:
		return typeBool, table{}, nil
	case column.TypeInt8, column.TypeInt16, column.TypeInt32, column.TypeInt64:
		return typeInt, table{int32Of(8 * f.Width), boolOf(true)}, nil
	case column.TypeUint8, column.TypeUint16, column.TypeUint32, column.TypeUint64, column.TypeBFloat16: // of which Arrow has the bits
		return typeInt, table{int32Of(8 * f.Width), boolOf(false)}, nil
	case column.TypeFloat16, column.TypeFloat32, column.TypeFloat64:
		return typeFloatingPoint, table{int16Of(f.Width / 4)}, nil // half, single, double
	case column.TypeDecimal:
		return typeDecimal, table{int32Of(f.Precision), int32Of(f.Scale), int32Of(max(128, 8*f.Width))}, nil
	case column.TypeDate:
		return typeDate, table{int16Of(0)}, nil // days
	case column.TypeTime:
		bits := 64
		if f.Unit == column.Milli {
			bits = 32
		}
		return typeTime, table{int16Of(unit), int32Of(bits)}, nil
	case column.TypeTimestamp:
		if f.UTC {
			return typeTimestamp, table{int16Of(unit), to(text("UTC"))}, nil
		}
		return typeTimestamp, table{int16Of(unit)}, nil
	case column.TypeInterval, column.TypeUUID, column.TypeFixedBinary:
		return typeFixedSizeBinary, table{int32Of(f.Width)}, nil
	}
	return 0, nil, fmt.Errorf("column %q is %v, which has no Arrow type", f.Name, f)
}
