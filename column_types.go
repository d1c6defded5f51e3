package shardfeed

import (
	"cmp"
	"encoding/json"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// columnTypes are the types that the options of the spec need of columns to which the shards give
// none.
func (s Spec) columnTypes() func(name string) rowgroup.NeededType {
	o := s.features(&option.List{New: newOptionError})
	return func(name string) rowgroup.NeededType {
		cast := castType(o, name)
		values := cmp.Or(cast, s.valueType(name))
		if _, scaled := loader.Named(o.Scale, name); scaled {
			values = fixed(column.TypeFloat32, 4)
			cast = fixed(column.TypeFloat64, 8)
		}
		if s.needsList(name) {
			values = &column.Field{Kind: column.List, Children: []*column.Field{cmp.Or(values, fixed(column.TypeInt64, 8))}}
		}
		return rowgroup.NeededType{Empty: values, Mixed: cast}
	}
}

// castType is the type of a cast or of a matrix; nil without one.
func castType(o loader.Features, name string) *column.Field {
	if _, hashed := loader.Named(o.Hash, name); hashed {
		return nil
	}
	if t, ok := loader.Named(o.Cast, name); ok {
		f := fixed(t.Type, rowgroup.CastWidth(t.Type))
		f.Unit = t.Unit
		return f
	}
	for _, stack := range o.Stack {
		if loader.Names(stack.Columns, name) {
			t := cmp.Or(stack.Type, column.TypeFloat32)
			return fixed(t, rowgroup.CastWidth(t))
		}
	}
	return nil
}

// valueType is the type that takes what other options say of a column; nil without any.
func (s Spec) valueType(name string) *column.Field {
	text := &column.Field{Kind: column.Binary, Type: column.TypeString}
	bytes := &column.Field{Kind: column.Binary, Type: column.TypeBinary}
	switch {
	case s.Vocabulary[name] != nil:
		return text
	case s.Weight == name:
		return fixed(column.TypeFloat64, 8)
	case s.Pack != nil && s.Pack.Length == name:
		return fixed(column.TypeInt64, 8)
	}
	if _, ok := s.Images[name]; ok {
		return bytes
	}
	if _, ok := loader.Named(s.Hash, name); ok {
		return text
	}
	value, given := loader.Named(s.Null, name)
	for _, p := range s.Pad {
		if p.Column == name && !given {
			value, given = p.Value, true
		}
	}
	return typeOfValue(value)
}

// typeOfValue is the type that holds a value in JSON; nil without one.
func typeOfValue(raw json.RawMessage) *column.Field {
	value, _ := parseValue(raw)
	switch value.(type) {
	case bool:
		return fixed(column.TypeBool, 1)
	case int64:
		return fixed(column.TypeInt64, 8)
	case uint64:
		return fixed(column.TypeUint64, 8)
	case float64:
		return fixed(column.TypeFloat64, 8)
	case string:
		return &column.Field{Kind: column.Binary, Type: column.TypeString}
	case []byte:
		return &column.Field{Kind: column.Binary, Type: column.TypeBinary}
	}
	return nil
}

// needsList reports whether an option takes lists alone.
func (s Spec) needsList(name string) bool {
	for _, p := range s.Pad {
		if p.Column == name {
			return true
		}
	}
	if s.Pack != nil {
		if _, ok := s.Pack.Columns[name]; ok {
			return true
		}
	}
	if s.Bucket != nil {
		_, ok := s.Bucket.Columns[name]
		return ok
	}
	return false
}

func fixed(t column.Type, width int) *column.Field {
	return &column.Field{Kind: column.Fixed, Type: t, Width: width}
}
