package spark

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

type structType struct {
	Fields []structField `json:"fields"`
}

type structField struct {
	Name     string                     `json:"name"`
	Type     json.RawMessage            `json:"type"`
	Nullable bool                       `json:"nullable"`
	Metadata map[string]json.RawMessage `json:"metadata"`
}

// A nestedType is a struct, an array or a map.
type nestedType struct {
	Type string `json:"type"`
	structType
	Element      json.RawMessage `json:"elementType"`
	ContainsNull bool            `json:"containsNull"`
	Key          json.RawMessage `json:"keyType"`
	Value        json.RawMessage `json:"valueType"`
	ValueNull    bool            `json:"valueContainsNull"`
}

// A Named sets how files know a field, by the metadata that the schema has for it.
type Named func(metadata map[string]json.RawMessage, f *table.Field) error

// Fields returns the fields of a schema in JSON, and its columns that cannot be read. The names of
// fields in files are their own unless named sets others; it may be nil.
func Fields(schema string, named Named) (fields []table.Field, not []table.Unreadable, err error) {
	var root structType
	if err := json.Unmarshal([]byte(schema), &root); err != nil {
		return nil, nil, fmt.Errorf("%w: the schema is not of the known form: %w", shard.ErrCorrupt, err)
	}
	for i := range root.Fields {
		r := reader{named: named}
		made, err := r.members("", root.Fields[i:i+1])
		if e := (*typeError)(nil); errors.As(err, &e) {
			not = append(not, table.Unreadable{Column: root.Fields[i].Name, Type: e.name, Part: e.path})
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		fields = append(fields, made...)
	}
	return fields, not, nil
}

// A typeError is a column, or a part of one, of a type that cannot be read.
type typeError struct{ path, name string }

func (e *typeError) Error() string {
	return table.Unreadable{Part: e.path, Type: e.name}.String()
}

// A reader makes fields of a schema in JSON.
type reader struct {
	named Named
	depth int
}

const maxDepth = 100

// members are the fields of a struct, or of the table.
func (r *reader) members(path string, all []structField) ([]table.Field, error) {
	fields := make([]table.Field, 0, len(all))
	for i := range all {
		f := &all[i]
		made, err := r.field(path, f.Name, f.Type, f.Nullable)
		if err != nil {
			return nil, err
		}
		if r.named != nil {
			if err := r.named(f.Metadata, &made); err != nil {
				return nil, fmt.Errorf("%w: column %q: %w", shard.ErrCorrupt, join(path, f.Name), err)
			}
		}
		fields = append(fields, made)
	}
	return fields, nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// field makes a field of a type.
func (r *reader) field(path, name string, text json.RawMessage, nullable bool) (table.Field, error) {
	if r.depth++; r.depth > maxDepth {
		return table.Field{}, fmt.Errorf("%w: the schema is nested more than %d deep", shard.ErrCorrupt, maxDepth)
	}
	defer func() { r.depth-- }()
	path = join(path, name)
	c := &column.Field{Name: name, Nullable: nullable}
	made := table.Field{Column: c, Names: []string{name}}
	var word string
	if json.Unmarshal(text, &word) == nil {
		if !SetPrimitive(c, word) {
			return made, &typeError{path, word}
		}
		return made, nil
	}
	var n nestedType
	if err := json.Unmarshal(text, &n); err != nil {
		return made, fmt.Errorf("%w: the type of column %q is not of the known form: %w", shard.ErrCorrupt, path, err)
	}
	var err error
	switch n.Type {
	case "struct":
		c.Kind = column.Struct
		made.Parts, err = r.members(path, n.Fields)
	case "array":
		c.Kind = column.List
		made.Parts, err = r.parts(path, part{"element", n.Element, n.ContainsNull})
	case "map":
		pair := table.Field{Column: &column.Field{Name: "key_value", Kind: column.Struct}, Names: []string{"key_value"}}
		pair.Parts, err = r.parts(path, part{"key", n.Key, false}, part{"value", n.Value, n.ValueNull})
		pair.Column.Children = columns(pair.Parts)
		c.Kind = column.Map
		made.Parts = []table.Field{pair}
	default:
		err = &typeError{path, n.Type}
	}
	c.Children = columns(made.Parts)
	return made, err
}

// A part is the items of a list, or the keys or values of a map.
type part struct {
	name     string
	text     json.RawMessage
	nullable bool
}

func (r *reader) parts(path string, all ...part) (fields []table.Field, err error) {
	for _, p := range all {
		f, err := r.field(path, p.name, p.text, p.nullable)
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	return fields, nil
}

func columns(fields []table.Field) (all []*column.Field) {
	for i := range fields {
		all = append(all, fields[i].Column)
	}
	return all
}

// primitives are the types of a word, without decimals.
var primitives = map[string]column.Field{
	"string":        {Kind: column.Binary, Type: column.TypeString},
	"binary":        {Kind: column.Binary, Type: column.TypeBinary},
	"boolean":       {Type: column.TypeBool, Width: 1},
	"byte":          {Type: column.TypeInt8, Width: 1},
	"short":         {Type: column.TypeInt16, Width: 2},
	"integer":       {Type: column.TypeInt32, Width: 4},
	"long":          {Type: column.TypeInt64, Width: 8},
	"float":         {Type: column.TypeFloat32, Width: 4},
	"double":        {Type: column.TypeFloat64, Width: 8},
	"date":          {Type: column.TypeDate, Width: 4},
	"timestamp":     {Type: column.TypeTimestamp, Width: 8, Unit: column.Micro, UTC: true},
	"timestamp_ntz": {Type: column.TypeTimestamp, Width: 8, Unit: column.Micro},
	"void":          {Kind: column.Null, Type: column.TypeUnknown},
}

const maxPrecision = 38

// SetPrimitive gives a field the type of a word, and reports whether the word is known.
func SetPrimitive(c *column.Field, word string) bool {
	if p, ok := primitives[word]; ok {
		p.Name, p.Nullable = c.Name, c.Nullable
		*c = p
		return true
	}
	var precision, scale int
	if word == "decimal" {
		precision = 10
	} else if n, err := fmt.Sscanf(word, "decimal(%d,%d)", &precision, &scale); n != 2 || err != nil {
		return false
	}
	if precision < 1 || precision > maxPrecision || scale < 0 || scale > precision {
		return false
	}
	c.Type, c.Precision, c.Scale, c.Width = column.TypeDecimal, precision, scale, 8
	if precision > 18 {
		c.Width = 16
	}
	return true
}
