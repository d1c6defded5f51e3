package transform

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// Columns change some columns of a schema.
type Columns struct {
	Schema *column.Schema // with the changed columns
	Steps  []Step

	encoders map[string]*Encoders // by the columns that they make
	tokens   []*Encoders
	texts    []int // see Tokenized
	kept     rowgroup.Made
}

// Made counts what steps made.
type Made struct {
	Tokens  int64 // of texts
	Special int64 // texts that contain special tokens
	Cut     int64 // documents that lost tokens
}

// Options choose the columns to change.
type Options struct {
	Words
	Tokenize map[string]Tokenizer // by the column of tokens

	Repair  bool     // see tokenize.Options
	Columns []string // that are delivered, by name or pattern; nil is all but the texts of tokens
}

// A Step changes columns.
type Step struct {
	Column string // for errors

	// Apply changes the blocks of one unit, which the decoder has just decoded. A step may leave
	// values empty in rows other than these; nil is all rows.
	Apply func(d *rowgroup.Decoder, blocks []*rowgroup.Block, rows []uint32) (Made, error)
}

// Validate lists all problems that no schema is needed to find.
func (o Options) Validate() error {
	p := option.List{New: option.NewError}
	p.Join(o.Words.Validate())
	labels := ""
	for _, name := range o.names() {
		t := o.Tokenize[name]
		t.validate(&p, name)
		switch {
		case t.Labels == nil:
		case labels != "" || o.Tokenize[LabelsColumn].Tokenizer != nil:
			p.Add(fmt.Sprintf("Tokenize[%q]", name), "makes the column %q, as that of %q does", LabelsColumn, cmp.Or(labels, LabelsColumn))
		default:
			labels = name
		}
	}
	return p.Err()
}

// Within returns options whose encoders keep fewer words where the memory of a stream is small.
func (o Options) Within(memory int64) Options {
	const (
		mostCache  = 12 << 20 // of an encoder
		leastCache = 1 << 20
		cachePart  = 64 // of memory
	)
	o.Tokenize = maps.Clone(o.Tokenize)
	for name, t := range o.Tokenize {
		t.Options.CacheBytes = int(min(mostCache, max(leastCache, memory/cachePart)))
		o.Tokenize[name] = t
	}
	return o
}

// Bind returns the steps for the columns of a schema.
func Bind(schema *column.Schema, o Options) (Columns, error) {
	c := Columns{Schema: &column.Schema{Fields: slices.Clone(schema.Fields)}, encoders: map[string]*Encoders{}}
	err := c.addWords(o.Words)
	if err == nil {
		err = c.addTokens(o)
	}
	if err != nil {
		return Columns{}, err
	}
	return c, nil
}

// OrNil returns nil if there are no steps.
func (c *Columns) OrNil() *Columns {
	if len(c.Steps) == 0 {
		return nil
	}
	return c
}

// Apply changes the blocks of a unit that was just decoded; see Step.
func (c *Columns) Apply(d *rowgroup.Decoder, blocks []*rowgroup.Block, rows []uint32) (all Made, err error) {
	for _, s := range c.Steps {
		made, err := s.Apply(d, blocks, rows)
		if err != nil {
			return all, &rowgroup.Error{Op: "transform", Column: s.Column, Page: -1, Err: err, Hint: Hint(err)}
		}
		all.Tokens, all.Special, all.Cut = all.Tokens+made.Tokens, all.Special+made.Special, all.Cut+made.Cut
	}
	return all, nil
}
