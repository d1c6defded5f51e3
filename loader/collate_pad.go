package loader

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
)

// A Padding makes one column of ragged lists dense: a batch column of shape [rows, length], where
// length is the length of the batch's longest list within the bounds below, and at least 1. A null
// list becomes a row of padding and stays null. A null item stays null.
//
// Lists of ragged lists become dense at each level, [rows, length, length, ...]; levels of a
// declared size keep it. Items are fixed-width values or fixed-size lists of them, which gives
// [rows, length, sizes...]. Lists of strings or structs are refused.
type Padding struct {
	Column string // a column of the schema

	// Value fills the rows up: a Go number or bool that the item type holds exactly, or the item's
	// bytes as a []byte; nil is zero.
	Value any

	Multiple int       // length is rounded up to a multiple of it; 0 means 1
	Max      int       // lists are cut to Max items; 0 means no bound
	Within   []PadSize // of the lists within, level by level; nil: Multiple and Max of all levels
	ToMax    bool      // length is always Max, so that all batches have one shape
	Left     bool      // lists are filled up on the left
	CutLeft  bool      // lists longer than Max lose items on the left

	// Lengths is the name of the int32 column of the lists' lengths after the cut; "" means Column
	// + "_lengths". Inner levels append their number, as in "x_lengths_2", and their lengths have
	// the shape of the padded lists around them: 0 is padding.
	Lengths string
	Mask    string // name of a bool column of the lists' shape, true for items; "" adds no column
}

// A PadSize bounds the length of one level of lists, as Padding.Multiple and Padding.Max do.
type PadSize struct{ Multiple, Max int }

// size returns the bounds of a level, from 0.
func (p Padding) size(level int) PadSize {
	if level == 0 || p.Within == nil {
		return PadSize{p.Multiple, p.Max}
	}
	if level > len(p.Within) {
		return PadSize{}
	}
	return p.Within[level-1]
}

// LengthsName is the name of the column of the lengths of a level of lists, from 0.
func (p Padding) LengthsName(level int) string {
	name := cmp.Or(p.Lengths, p.Column+"_lengths")
	if level > 0 {
		name += fmt.Sprintf("_%d", level+1)
	}
	return name
}

// Levels returns the length of each level of lists that the padding of a column makes dense: -1
// where batches differ.
func (p Padding) Levels(f *column.Field) (all []int) {
	ragged := 0
	for level := 0; f.Kind == column.List; level++ {
		n := f.ListSize
		if n == 0 {
			if n, ragged = -1, level+1; p.ToMax {
				n = p.size(level).Max
			}
		}
		all = append(all, n)
		f = f.Children[0]
	}
	return all[:ragged]
}

// validate reports problems of the padding at index i.
func (p Padding) validate(l *option.List, i int) {
	field := func(name string) string { return fmt.Sprintf("Pad[%d].%s", i, name) }
	if p.Column == "" {
		l.Add(field("Column"), "must not be empty")
	}
	for level := range len(p.Within) + 1 {
		name := field
		if level > 0 {
			name = func(word string) string { return fmt.Sprintf("Pad[%d].Within[%d].%s", i, level-1, word) }
		}
		size := p.size(level)
		l.Within(name("Multiple"), int64(size.Multiple), option.MaxBatchRows)
		l.Within(name("Max"), int64(size.Max), option.MaxBatchRows)
		if size.Max > 0 && size.Multiple > 0 && size.Max%size.Multiple != 0 {
			l.Add(name("Max"), "must be a multiple of Multiple %d, got %d", size.Multiple, size.Max)
		}
	}
	if p.ToMax && p.Max == 0 {
		l.Add(field("ToMax"), "needs a Max")
	}
}

// A padder is a Padding bound to a schema.
type padder struct {
	Padding
	at     int // column
	field  *column.Field
	levels int    // of lists that become dense
	fill   []byte // bytes of an item of padding
}

// bindPads finds the paddings' columns in the schema and lists all that is wrong.
func bindPads(pads []Padding, s *column.Schema) ([]*padder, error) {
	names := map[string]int{}
	for _, f := range s.Fields {
		names[f.Name]++
	}
	problems := option.List{New: newProblem}
	var bound []*padder
	seen := map[string]bool{}
	for _, p := range pads {
		b, err := bindPad(p, s)
		switch {
		case names[p.Column] > 1:
			err = errors.New("the schema has more than one column of that name")
		case seen[p.Column]:
			err = errors.New("it is padded twice")
		}
		seen[p.Column] = true
		if err == nil {
			err = b.addNames(names)
		}
		if err != nil {
			problems.Add(fmt.Sprintf("Pad[%q]", p.Column), "does not apply: %v", err)
		}
		bound = append(bound, b)
	}
	return bound, problems.Err()
}

// addNames counts the names of the columns that the padder adds, which must be new.
func (p *padder) addNames(names map[string]int) error {
	var added []string
	for level := range p.levels {
		added = append(added, p.LengthsName(level))
	}
	if p.Mask != "" {
		added = append(added, p.Mask)
	}
	for _, name := range added {
		if names[name] > 0 {
			return fmt.Errorf("there is a column %q already; name lengths and mask otherwise", name)
		}
		names[name]++
	}
	return nil
}

func bindPad(p Padding, s *column.Schema) (*padder, error) {
	at := slices.IndexFunc(s.Fields, func(f *column.Field) bool { return f.Name == p.Column })
	if at < 0 {
		return nil, notRead(p.Column, s.Fields)
	}
	b := &padder{Padding: p, at: at, field: s.Fields[at]}
	b.levels = len(p.Levels(b.field))
	if b.levels == 0 {
		return nil, fmt.Errorf("it is %v; only ragged lists are padded", b.field)
	}
	if len(p.Within) >= b.levels && p.Within != nil {
		return nil, fmt.Errorf("it is %v, and sizes of %d levels of lists are given; it has %d that are padded", b.field, len(p.Within)+1, b.levels)
	}
	for level, f := 0, b.field; level < b.levels; level, f = level+1, f.Children[0] {
		if p.ToMax && f.ListSize == 0 && p.size(level).Max == 0 {
			return nil, fmt.Errorf("it is %v, and batches of one shape need the length of each level of lists", b.field)
		}
	}
	leaf, per := b.field, 1
	for level := 0; leaf.Kind == column.List; level++ {
		if level >= b.levels {
			per *= leaf.ListSize
		}
		leaf = leaf.Children[0]
	}
	if leaf.Kind != column.Fixed {
		return nil, fmt.Errorf("it is %v; only lists of fixed-width values, or of lists of them, are padded", b.field)
	}
	value, err := encode(leaf, p.Value)
	b.fill = bytes.Repeat(value, per)
	return b, err
}
