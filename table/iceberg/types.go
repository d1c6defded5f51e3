package iceberg

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/table"
)

// A fieldType is the type of a field, as the metadata's JSON has it.
type fieldType struct {
	name string // of a primitive type, or "struct", "list" or "map"

	fields []field // of a struct; of a list, the element; of a map, key and value
}

func (t *fieldType) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &t.name) == nil {
		return nil
	}
	var o struct {
		Type     string    `json:"type"`
		Fields   []field   `json:"fields"`
		ElemID   int32     `json:"element-id"`
		Element  fieldType `json:"element"`
		ElemReq  bool      `json:"element-required"`
		KeyID    int32     `json:"key-id"`
		Key      fieldType `json:"key"`
		ValueID  int32     `json:"value-id"`
		Value    fieldType `json:"value"`
		ValueReq bool      `json:"value-required"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	t.name = o.Type
	switch o.Type {
	case "struct":
		t.fields = o.Fields
	case "list":
		t.fields = []field{{ID: o.ElemID, Name: "element", Required: o.ElemReq, Type: o.Element}}
	case "map":
		t.fields = []field{
			{ID: o.KeyID, Name: "key", Required: true, Type: o.Key},
			{ID: o.ValueID, Name: "value", Required: o.ValueReq, Type: o.Value},
		}
	default:
		return fmt.Errorf("the type %q is not known", o.Type)
	}
	return nil
}

// leaves are the primitive types without parameters.
var leaves = map[string]column.Field{
	"boolean":        {Kind: column.Fixed, Type: column.TypeBool, Width: 1},
	"int":            {Kind: column.Fixed, Type: column.TypeInt32, Width: 4},
	"long":           {Kind: column.Fixed, Type: column.TypeInt64, Width: 8},
	"float":          {Kind: column.Fixed, Type: column.TypeFloat32, Width: 4},
	"double":         {Kind: column.Fixed, Type: column.TypeFloat64, Width: 8},
	"date":           {Kind: column.Fixed, Type: column.TypeDate, Width: 4},
	"time":           {Kind: column.Fixed, Type: column.TypeTime, Width: 8, Unit: column.Micro},
	"timestamp":      {Kind: column.Fixed, Type: column.TypeTimestamp, Width: 8, Unit: column.Micro},
	"timestamptz":    {Kind: column.Fixed, Type: column.TypeTimestamp, Width: 8, Unit: column.Micro, UTC: true},
	"timestamp_ns":   {Kind: column.Fixed, Type: column.TypeTimestamp, Width: 8, Unit: column.Nano},
	"timestamptz_ns": {Kind: column.Fixed, Type: column.TypeTimestamp, Width: 8, Unit: column.Nano, UTC: true},
	"string":         {Kind: column.Binary, Type: column.TypeString},
	"binary":         {Kind: column.Binary, Type: column.TypeBinary},
	"uuid":           {Kind: column.Fixed, Type: column.TypeUUID, Width: 16},
	"unknown":        {Kind: column.Null, Type: column.TypeUnknown},
}

// columnOf returns a field as a column. An error is a typeError.
func columnOf(f *field) (*column.Field, error) {
	c := &column.Field{Name: f.Name, Nullable: !f.Required}
	switch f.Type.name {
	case "struct":
		c.Kind = column.Struct
	case "list":
		c.Kind = column.List
	case "map":
		c.Kind = column.Map
	default:
		return leafOf(f, c)
	}
	for i := range f.Type.fields {
		child, err := columnOf(&f.Type.fields[i])
		if err != nil {
			var e *typeError
			if errors.As(err, &e) {
				e.path = f.Name + "." + e.path
			}
			return nil, err
		}
		c.Children = append(c.Children, child)
	}
	if c.Kind == column.Map {
		c.Children = []*column.Field{{Name: "key_value", Kind: column.Struct, Children: c.Children}}
	}
	return c, nil
}

func leafOf(f *field, c *column.Field) (*column.Field, error) {
	name := f.Type.name
	leaf, ok := leaves[name]
	if precision, scale, isDecimal := decimalOf(name); isDecimal {
		leaf, ok = column.Field{Kind: column.Fixed, Type: column.TypeDecimal, Width: 16, Precision: precision, Scale: scale}, true
		if precision <= 18 {
			leaf.Width = 8
		}
	}
	if inner, isFixed := strings.CutPrefix(name, "fixed["); isFixed {
		n, err := strconv.Atoi(strings.TrimSuffix(inner, "]"))
		leaf, ok = column.Field{Kind: column.Fixed, Type: column.TypeFixedBinary, Width: n}, err == nil && n > 0
	}
	if !ok {
		return nil, &typeError{f.Name, name}
	}
	leaf.Name, leaf.Nullable = c.Name, c.Nullable || leaf.Kind == column.Null
	return &leaf, nil
}

// A typeError is a column, or a part of one, of a type that cannot be read.
type typeError struct{ path, name string }

func (e *typeError) Error() string { return table.Unreadable{Part: e.path, Type: e.name}.String() }

// decimalOf parses "decimal(9, 2)".
func decimalOf(name string) (precision, scale int, ok bool) {
	_, err := fmt.Sscanf(strings.ReplaceAll(name, " ", ""), "decimal(%d,%d)", &precision, &scale)
	return precision, scale, err == nil && precision >= 1 && precision <= 38 && scale >= 0 && scale <= precision
}
