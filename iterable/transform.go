package iterable

import (
	"errors"
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// A Transform maps the values of one column when its blocks are decoded, before rows are shuffled:
// once per value, or where a column is coded by a dictionary once per entry. It depends on nothing
// but the value; what differs from batch to batch belongs to package loader.
type Transform interface {
	// Column is the name of a top-level column of the projection.
	Column() string
	// Bind takes the column's field and returns the Fixed one that it becomes, and the mapping.
	// Several goroutines call the mapping at once.
	Bind(f *column.Field) (*column.Field, rowgroup.Mapping, error)
}

// TransformError says that a transform does not fit its column.
type TransformError struct {
	Column string
	Err    error
}

func (e *TransformError) Error() string {
	return fmt.Sprintf("transform of column %q: %v", e.Column, e.Err)
}

func (e *TransformError) Unwrap() error { return e.Err }

// recodes are what a data set's transforms come to for its schema.
type recodes struct {
	schema *column.Schema
	list   []recode
}

type recode struct {
	column  int
	field   *column.Field
	mapping rowgroup.Mapping
}

// bindTransforms applies the transforms to a schema, one after the other.
func bindTransforms(schema *column.Schema, transforms []Transform) (recodes, error) {
	r := recodes{schema: &column.Schema{Fields: slices.Clone(schema.Fields)}}
	for _, t := range transforms {
		col, err := r.find(t.Column())
		if err != nil {
			return recodes{}, err
		}
		old := r.schema.Fields[col]
		if old.Kind != column.Fixed && old.Kind != column.Binary {
			return recodes{}, &TransformError{t.Column(), errors.New("it is nested")}
		}
		field, mapping, err := t.Bind(old)
		if err != nil {
			return recodes{}, &TransformError{t.Column(), err}
		}
		if field.Kind != column.Fixed || field.Width < 1 {
			return recodes{}, &TransformError{t.Column(), errors.New("it does not become a column of fixed width")}
		}
		r.schema.Fields[col] = field
		r.list = append(r.list, recode{column: col, field: field, mapping: mapping})
	}
	return r, nil
}

func (r recodes) find(name string) (int, error) {
	col := -1
	for i, f := range r.schema.Fields {
		if f.Name == name && col >= 0 {
			return 0, &TransformError{name, errors.New("two columns have that name")}
		}
		if f.Name == name {
			col = i
		}
	}
	if col < 0 {
		return 0, &TransformError{name, errors.New("there is no such column")}
	}
	return col, nil
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

// Vocabulary maps each word of a text column to its place in words, as an int64. A value that is
// not among them is an error.
func Vocabulary(column string, words []string) Transform {
	return vocabulary{column: column, words: words, strict: true}
}

// VocabularyOr is Vocabulary with an index for values that are not among the words.
func VocabularyOr(column string, words []string, unknown int64) Transform {
	return vocabulary{column: column, words: words, unknown: unknown}
}

type vocabulary struct {
	column  string
	words   []string
	unknown int64
	strict  bool
}

func (v vocabulary) Column() string { return v.column }

func (v vocabulary) Bind(f *column.Field) (*column.Field, rowgroup.Mapping, error) {
	if f.Kind != column.Binary {
		return nil, nil, errors.New("a vocabulary is for texts")
	}
	index := make(map[string]int64, len(v.words))
	for i, w := range v.words {
		if at, ok := index[w]; ok {
			return nil, nil, fmt.Errorf("the vocabulary has %q at %d and at %d", w, at, i)
		}
		index[w] = int64(i)
	}
	mapping := func(dst, value []byte) error {
		i, ok := index[string(value)]
		if !ok && v.strict {
			return fmt.Errorf("%q is not in the vocabulary of %d words", clip(value), len(v.words))
		}
		if !ok {
			i = v.unknown
		}
		putInt(dst, i)
		return nil
	}
	return &column.Field{Name: f.Name, Kind: column.Fixed, Type: column.TypeInt64, Width: 8, Nullable: f.Nullable}, mapping, nil
}

// clip shortens a value for a message.
func clip(value []byte) []byte {
	const most = 60
	if len(value) > most {
		return append(value[:most:most], "..."...)
	}
	return value
}
