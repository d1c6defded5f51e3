package transform

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// Words map text columns to numbers.
type Words struct {
	// Vocabulary maps the values of a text column, by its name, to their places in the list: an
	// int64 column. A value that is not in the list is an error, or becomes the number that Unknown
	// has for the column: from LeastUnknown to the number of words, which is the place after the
	// last one. Nulls stay null.
	Vocabulary map[string][]string `json:"vocabulary"`
	Unknown    map[string]int64    `json:"unknown"`
}

// LeastUnknown is the least number of Words.Unknown: the label that losses of torch ignore by
// default. No word has a negative number.
const LeastUnknown = -100

// Validate refuses numbers of columns without a vocabulary, and numbers that leave a gap after the
// words.
func (w Words) Validate() error {
	p := option.List{New: option.NewError}
	for _, name := range slices.Sorted(maps.Keys(w.Unknown)) {
		field, number := fmt.Sprintf("Unknown[%q]", name), w.Unknown[name]
		switch words, ok := w.Vocabulary[name]; {
		case !ok:
			p.Add(field, "needs {Vocabulary} of column %q, got %d alone", name, number)
		case number < LeastUnknown || number > int64(len(words)):
			p.Add(field, "must be from %d to %d, the number of words, got %d", LeastUnknown, len(words), number)
		}
	}
	return p.Err()
}

// addWords makes numbers of the columns that have a vocabulary.
func (c *Columns) addWords(w Words) error {
	for _, name := range slices.Sorted(maps.Keys(w.Vocabulary)) {
		col, err := placeOf(c.Schema.Fields, name, fmt.Sprintf("Vocabulary[%q]", name))
		if err != nil {
			return err
		}
		words := w.Vocabulary[name]
		other := func(word []byte) (int64, error) {
			return 0, fmt.Errorf("%q is not in the vocabulary of %d words", clip(word), len(words))
		}
		if number, ok := w.Unknown[name]; ok {
			other = func([]byte) (int64, error) { return number, nil }
		}
		mapping, err := places(words, other)
		if err != nil {
			return &option.Error{Field: fmt.Sprintf("Vocabulary[%q]", name), Text: option.Literal(err.Error())}
		}
		field := &column.Field{Name: name, Kind: column.Fixed, Type: column.TypeInt64, Width: 8, Nullable: c.Schema.Fields[col].Nullable}
		c.Schema.Fields[col] = field
		c.Steps = append(c.Steps, Step{Column: name, Apply: func(_ *rowgroup.Decoder, blocks []*rowgroup.Block, _ []uint32) (Made, error) {
			return Made{}, rowgroup.RecodeParts(blocks, col, field, mapping)
		}})
	}
	return nil
}

// places maps each word to its place in words, as an int64; other has the numbers of other words.
func places(words []string, other func(word []byte) (int64, error)) (func(dst, word []byte) error, error) {
	index := make(map[string]int64, len(words))
	for i, w := range words {
		if at, ok := index[w]; ok {
			return nil, fmt.Errorf("must have each word once, got %q at %d and at %d", w, at, i)
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
