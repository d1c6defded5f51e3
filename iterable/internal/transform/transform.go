package transform

import (
	"errors"
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// An Error reports that a transform does not fit its column.
type Error struct {
	Column string
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("transform of column %q: %v", e.Column, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// Columns change some columns of a schema.
type Columns struct {
	Schema *column.Schema // with the changed columns
	Steps  []Step
}

// A Step changes one column.
type Step struct {
	Column string
	Apply  func(blocks []*rowgroup.Block) error // of one unit
}

// Bind returns the steps of the words for the columns of a schema.
func Bind(schema *column.Schema, w Words) (Columns, error) {
	c := Columns{Schema: &column.Schema{Fields: slices.Clone(schema.Fields)}}
	if err := c.addWords(w); err != nil {
		return Columns{}, err
	}
	return c, nil
}

// text returns the place of a column of text.
func (c *Columns) text(name, need string) (int, error) {
	named := func(f *column.Field) bool { return f.Name == name }
	col := slices.IndexFunc(c.Schema.Fields, named)
	switch {
	case col < 0:
		return 0, &Error{name, errors.New("there is no such column")}
	case slices.ContainsFunc(c.Schema.Fields[col+1:], named):
		return 0, &Error{name, errors.New("two columns have that name")}
	case c.Schema.Fields[col].Kind != column.Binary:
		return 0, &Error{name, errors.New(need)}
	}
	return col, nil
}

// Apply changes the blocks of a unit that was just decoded.
func (c *Columns) Apply(blocks []*rowgroup.Block) error {
	for _, s := range c.Steps {
		if err := s.Apply(blocks); err != nil {
			return &rowgroup.Error{Op: "transform", Column: s.Column, Page: -1, Err: err}
		}
	}
	return nil
}
