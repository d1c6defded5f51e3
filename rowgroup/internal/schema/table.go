package schema

import (
	"github.com/shardfeed/shardfeed/table"
)

// A Table finds the columns of a table in shards that may name and number them in their own way.
type Table struct {
	Address   string // for messages
	Fields    []table.Field
	Constants [][]table.Constant // by shard; nil if no shard has any
	FirstRows []int64            // by shard: ID of the first row, or -1; nil without RowIDs

	// AsStored keeps the types of the files, and leaves out the fields and parts that they lack. It
	// also reads files that list deleted rows. Options.IndexDir must be "".
	AsStored bool
}

// Resolve replaces the schemas of a table's shards, equal ones once. The error is about the shard
// at position bad.
func Resolve(t *Table, shards []**File) (bad int, err error) {
	type kind struct {
		file      *File
		constants string
	}
	all := map[kind]*File{}
	r := resolver{fields: t.Fields, given: t.given(len(shards)), first: t.FirstRows, asStored: t.AsStored}
	constant := make([]bool, len(t.Fields))
	for i, s := range shards {
		text := t.constants(constant, i)
		of := kind{*s, text}
		if all[of] == nil {
			if all[of], err = r.resolve(*s, constant); err != nil {
				return i, err
			}
		}
		*s = all[of]
	}
	return 0, nil
}

// constants sets which fields are constant in a shard, and returns them as a text.
func (t *Table) constants(constant []bool, shard int) string {
	if t.Constants == nil {
		return ""
	}
	clear(constant)
	text := make([]byte, len(constant))
	for _, c := range t.Constants[shard] {
		constant[c.Field], text[c.Field] = true, 1
	}
	return string(text)
}

// given is the values of the constant fields in the shards, by field.
func (t *Table) given(shards int) []*Given {
	values := make([][]*PartitionValue, len(t.Fields))
	for i, constants := range t.Constants {
		for _, c := range constants {
			if values[c.Field] == nil {
				values[c.Field] = make([]*PartitionValue, shards)
			}
			values[c.Field][i] = &PartitionValue{Null: c.Value.Null, Data: c.Value.Data}
		}
	}
	given := make([]*Given, len(t.Fields))
	for i, v := range values {
		if v != nil {
			given[i] = NewGiven(v)
		}
	}
	return given
}

// Empty is the schema of a table without files.
func Empty(t *Table) *File {
	s := &File{}
	for _, f := range t.Fields {
		n := absent(f.Column, f.Column.Name)
		n.hidden = f.RowIDs
		s.Columns = append(s.Columns, n)
	}
	return s
}
