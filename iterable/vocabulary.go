package iterable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// LeastUnknown is the least number of Options.Unknown: the label that losses of torch ignore by
// default. No word has a negative number.
const LeastUnknown = -100

// TransformError reports that a vocabulary does not fit its column.
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
func bindVocabulary(schema *column.Schema, vocabulary map[string][]string, unknown map[string]int64) (recodes, error) {
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
		other := func(word []byte) (int64, error) {
			return 0, fmt.Errorf("%q is not in the vocabulary of %d words", clip(word), len(vocabulary[name]))
		}
		if number, ok := unknown[name]; ok {
			other = func([]byte) (int64, error) { return number, nil }
		}
		mapping, err := places(vocabulary[name], other)
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

// validateUnknown refuses numbers of columns without a vocabulary, and numbers that leave a gap
// after the words.
func (o Options) validateUnknown(p *option.List) {
	for _, name := range slices.Sorted(maps.Keys(o.Unknown)) {
		field, number := fmt.Sprintf("Unknown[%q]", name), o.Unknown[name]
		switch words, ok := o.Vocabulary[name]; {
		case !ok:
			p.Add(field, "needs {Vocabulary} of column %q, got %d alone", name, number)
		case number < LeastUnknown || number > int64(len(words)):
			p.Add(field, "must be from %d to %d, the number of words, got %d", LeastUnknown, len(words), number)
		}
	}
}

// places maps each word to its place in words, as an int64; other has the numbers of other words.
func places(words []string, other func(word []byte) (int64, error)) (func(dst, word []byte) error, error) {
	index := make(map[string]int64, len(words))
	for i, w := range words {
		if at, ok := index[w]; ok {
			return nil, fmt.Errorf("the vocabulary has %q at %d and at %d", w, at, i)
		}
		index[w] = int64(i)
	}
	return func(dst, word []byte) (err error) {
		i, ok := index[string(word)]
		if !ok {
			if i, err = other(word); err != nil {
				return err
			}
		}
		binary.LittleEndian.PutUint64(dst, uint64(i))
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
