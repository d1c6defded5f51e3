package iterable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// TransformError says that a vocabulary does not fit its column.
type TransformError struct {
	Column string
	Err    error
}

func (e *TransformError) Error() string {
	return fmt.Sprintf("transform of column %q: %v", e.Column, e.Err)
}

func (e *TransformError) Unwrap() error { return e.Err }

// recodes are a schema's columns with a vocabulary, and the schema that comes of them.
type recodes struct {
	schema *column.Schema
	list   []recode
}

type recode struct {
	column  int
	field   *column.Field
	mapping func(dst, value []byte) error
}

// bindVocabulary replaces the columns of a schema that have a vocabulary.
func bindVocabulary(schema *column.Schema, vocabulary map[string][]string) (recodes, error) {
	r := recodes{schema: &column.Schema{Fields: slices.Clone(schema.Fields)}}
	for _, name := range slices.Sorted(maps.Keys(vocabulary)) {
		named := func(f *column.Field) bool { return f.Name == name }
		col := slices.IndexFunc(r.schema.Fields, named)
		switch {
		case col < 0:
			return recodes{}, &TransformError{name, errors.New("there is no such column")}
		case slices.ContainsFunc(r.schema.Fields[col+1:], named):
			return recodes{}, &TransformError{name, errors.New("two columns have that name")}
		case r.schema.Fields[col].Kind != column.Binary:
			return recodes{}, &TransformError{name, errors.New("a vocabulary is for texts")}
		}
		mapping, err := places(vocabulary[name])
		if err != nil {
			return recodes{}, &TransformError{name, err}
		}
		field := &column.Field{Name: name, Kind: column.Fixed, Type: column.TypeInt64, Width: 8, Nullable: r.schema.Fields[col].Nullable}
		r.schema.Fields[col] = field
		r.list = append(r.list, recode{column: col, field: field, mapping: mapping})
	}
	return r, nil
}

// apply recodes the blocks of a unit that was just decoded.
func (r recodes) apply(blocks []*rowgroup.Block) error {
	for _, c := range r.list {
		if err := rowgroup.RecodeParts(blocks, c.column, c.field, c.mapping); err != nil {
			return &rowgroup.Error{Op: "transform", Column: c.field.Name, Page: -1, Err: err}
		}
	}
	return nil
}

// places maps each word to its place in words, as an int64.
func places(words []string) (func(dst, value []byte) error, error) {
	index := make(map[string]uint64, len(words))
	for i, w := range words {
		if at, ok := index[w]; ok {
			return nil, fmt.Errorf("the vocabulary has %q at %d and at %d", w, at, i)
		}
		index[w] = uint64(i)
	}
	return func(dst, value []byte) error {
		i, ok := index[string(value)]
		if !ok {
			return fmt.Errorf("%q is not in the vocabulary of %d words", clip(value), len(words))
		}
		binary.LittleEndian.PutUint64(dst, i)
		return nil
	}, nil
}

// clip shortens a value for a message.
func clip(value []byte) []byte {
	const most = 60
	if len(value) > most {
		return append(value[:most:most], "..."...)
	}
	return value
}
