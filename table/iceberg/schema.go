package iceberg

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

// mappingProperty is the table's property with its name mapping.
const mappingProperty = "schema.name-mapping.default"

// A mapping is the names that columns have in files without field IDs, by field ID.
type mapping map[int32][]string

type mappedField struct {
	ID     int32         `json:"field-id"`
	Names  []string      `json:"names"`
	Fields []mappedField `json:"fields"`
}

func (m *metadata) mapping() (mapping, error) {
	text := m.Properties[mappingProperty]
	if text == "" {
		return nil, nil
	}
	var all []mappedField
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, fmt.Errorf("%w: the property %s: %w", shard.ErrCorrupt, mappingProperty, err)
	}
	names := mapping{}
	names.add(all)
	return names, nil
}

func (names mapping) add(all []mappedField) {
	for _, f := range all {
		if f.ID != 0 {
			names[f.ID] = f.Names
		}
		names.add(f.Fields)
	}
}

// columns returns the fields of a schema as columns of a table, and the fields that cannot be read.
func columns(s *schema, names mapping) (all []table.Field, not []table.Unreadable, err error) {
	for i := range s.Fields {
		f := &s.Fields[i]
		c, err := columnOf(f)
		if e := (*typeError)(nil); errors.As(err, &e) {
			not = append(not, table.Unreadable{Column: f.Name, Type: e.name, Part: e.path})
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		made, err := tableField(f, c, names)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, made)
	}
	return all, not, nil
}

func tableField(f *field, c *column.Field, names mapping) (table.Field, error) {
	t := table.Field{Column: c, ID: f.ID, Names: names[f.ID]}
	if len(f.Default) > 0 && string(f.Default) != "null" {
		v, err := defaultOf(f.Default, c)
		if err != nil {
			return t, fmt.Errorf("%s: its default value %s: %w", f.Name, f.Default, err)
		}
		t.Default = &v
	}
	children := c.Children
	if c.Kind == column.Map {
		children = c.Children[0].Children
	}
	for i := range f.Type.fields {
		part, err := tableField(&f.Type.fields[i], children[i], names)
		if err != nil {
			return t, fmt.Errorf("%s.%w", f.Name, err)
		}
		t.Parts = append(t.Parts, part)
	}
	if c.Kind == column.Map {
		t.Parts = []table.Field{{Column: c.Children[0], Parts: t.Parts}}
	}
	return t, nil
}
