package loader

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
)

// A Padding makes one column of ragged lists dense: a batch column of shape [rows, length], where
// length is that of the batch's longest list within the bounds below, and at least 1. A null list
// becomes a row of padding and stays null. A null item stays null.
//
// Items are fixed-width values or fixed-size lists of them, which gives [rows, length, sizes...].
// Lists of strings, structs or ragged lists are refused.
type Padding struct {
	Column string // a column of the schema

	// Value fills the rows up: a Go number or bool that the item type holds exactly, or the item's
	// bytes as a []byte; nil is zero.
	Value any

	Multiple int  // length is rounded up to a multiple of it; 0 means 1
	Max      int  // lists are cut to Max items; 0 means no bound
	ToMax    bool // length is always Max, so that all batches have one shape
	Left     bool // lists are filled up on the left
	CutLeft  bool // lists longer than Max lose items on the left

	Lengths string // name of the int32 column of the lists' lengths after the cut; "" means Column + "_lengths"
	Mask    string // name of a bool column of shape [rows, length], true where an item stands; "" means none
}

// validate notes what is wrong with number i of the paddings.
func (p Padding) validate(l *option.List, i int) {
	field := func(name string) string { return fmt.Sprintf("Pad[%d].%s", i, name) }
	if p.Column == "" {
		l.Add(field("Column"), "must not be empty")
	}
	l.Within(field("Multiple"), int64(p.Multiple), option.MaxBatchRows)
	l.Within(field("Max"), int64(p.Max), option.MaxBatchRows)
	if p.ToMax && p.Max == 0 {
		l.Add(field("ToMax"), "needs a Max")
	}
	if p.Max > 0 && p.Multiple > 0 && p.Max%p.Multiple != 0 {
		l.Add(field("Max"), "must be a multiple of Multiple %d, got %d", p.Multiple, p.Max)
	}
}

// A padder is a Padding bound to a schema.
type padder struct {
	Padding
	at    int // column
	field *column.Field
	fill  []byte // bytes of an item of padding
}

// bindPads finds the paddings' columns in the schema and lists all that is wrong.
func bindPads(pads []Padding, s *column.Schema) ([]*padder, error) {
	names := map[string]int{}
	for _, f := range s.Fields {
		names[f.Name]++
	}
	var errs []error
	var bound []*padder
	seen := map[string]bool{}
	for _, p := range pads {
		if p.Lengths == "" {
			p.Lengths = p.Column + "_lengths"
		}
		b, err := bindPad(p, s)
		switch {
		case names[p.Column] > 1:
			err = errors.New("the schema has more than one column of that name")
		case seen[p.Column]:
			err = errors.New("it is padded twice")
		}
		seen[p.Column] = true
		for _, added := range []string{p.Lengths, p.Mask} {
			if added == "" || err != nil {
				continue
			}
			if names[added] > 0 {
				err = fmt.Errorf("there is a column %q already; name lengths and mask otherwise", added)
			}
			names[added]++
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("loader: pad %q: %w", p.Column, err))
		}
		bound = append(bound, b)
	}
	return bound, errors.Join(errs...)
}

func bindPad(p Padding, s *column.Schema) (*padder, error) {
	at := slices.IndexFunc(s.Fields, func(f *column.Field) bool { return f.Name == p.Column })
	if at < 0 {
		return nil, errors.New("no such column is read")
	}
	b := &padder{Padding: p, at: at, field: s.Fields[at]}
	if b.field.Kind != column.List || b.field.ListSize > 0 {
		return nil, fmt.Errorf("it is %v; only ragged lists are padded", b.field)
	}
	leaf, per := b.field.Children[0], 1
	for leaf.Kind == column.List && leaf.ListSize > 0 {
		per *= leaf.ListSize
		leaf = leaf.Children[0]
	}
	if leaf.Kind != column.Fixed {
		return nil, fmt.Errorf("it is %v; only lists of fixed-width values, or of fixed-size lists of them, are padded", b.field)
	}
	value, err := encode(leaf, p.Value)
	b.fill = bytes.Repeat(value, per)
	return b, err
}

// pad replaces the batch's column, whose memory may end with scratch, and adds lengths and mask in
// the batch's memory.
func (p *padder) pad(b *Batch, scratch *mem.Arena) error {
	src := b.Columns[p.at]
	lengths, err := AddTensor[int32](b, p.Lengths)
	if err != nil {
		return err
	}
	n := p.measure(src, lengths)
	dense, err := p.dense(b, src, n, lengths, scratch)
	if err != nil {
		return err
	}
	b.Columns[p.at] = dense
	if p.Mask == "" {
		return nil
	}
	mask, err := AddTensor[bool](b, p.Mask, n)
	if err != nil {
		return err
	}
	for i, l := range lengths {
		at := i*n + p.gap(n, l)
		row := mask[at : at+int(l)]
		for k := range row {
			row[k] = true
		}
	}
	return nil
}

// measure sets the lengths after the cut and returns the length of all.
func (p *padder) measure(src *column.Array, lengths []int32) int {
	longest := int32(1)
	for i := range lengths {
		l := src.Offsets[i+1] - src.Offsets[i]
		if p.Max > 0 {
			l = min(l, int32(min(p.Max, 1<<31-1)))
		}
		lengths[i] = l
		longest = max(longest, l)
	}
	if p.ToMax {
		return p.Max
	}
	m := max(1, p.Multiple)
	return (int(longest) + m - 1) / m * m
}

// gap is how many places of padding come before a row's l items.
func (p *padder) gap(n int, l int32) int {
	if p.Left {
		return n - int(l)
	}
	return 0
}

// first is the first item of row i that is kept.
func (p *padder) first(src *column.Array, i int, l int32) int {
	if p.CutLeft {
		return int(src.Offsets[i+1] - l)
	}
	return int(src.Offsets[i])
}

func (p *padder) dense(b *Batch, src *column.Array, n int, lengths []int32, scratch *mem.Arena) (*column.Array, error) {
	w := len(p.fill)
	if hi, lo := bits.Mul64(uint64(src.Len)*uint64(w), uint64(n)); hi > 0 || lo > 1<<40 {
		return nil, fmt.Errorf("%d rows of %d items do not fit one batch; give a smaller max", src.Len, n)
	}
	data, err := b.Alloc(src.Len * n * w)
	if err != nil {
		return nil, err
	}
	padding := scratch.Alloc(n * w)
	for at := 0; at < len(padding); at += w {
		copy(padding[at:], p.fill)
	}
	items := leafOf(src).Data
	for i, l := range lengths {
		row := data[i*n*w : (i+1)*n*w]
		at, from := p.gap(n, l)*w, p.first(src, i, l)*w
		copy(row[:at], padding)
		end := at + copy(row[at:], items[from:from+int(l)*w])
		copy(row[end:], padding)
	}
	f := *p.field
	f.ListSize = n
	a := tensor(&f, src.Len, data)
	return a, p.keepNulls(b, src, a, n, lengths)
}

func leafOf(a *column.Array) *column.Array {
	for a.Field.Kind == column.List {
		a = a.Children[0]
	}
	return a
}

// keepNulls gives the dense array the nulls of the ragged one, at each level; padding is not null.
func (p *padder) keepNulls(b *Batch, src, dst *column.Array, n int, lengths []int32) error {
	if src.Nulls > 0 {
		v, err := b.Alloc((src.Len + 7) / 8)
		if err != nil {
			return err
		}
		copy(v, src.Valid)
		dst.Valid, dst.Nulls = v, src.Nulls
	}
	per := 1 // values of the level for each item
	for from, to := src, dst; from.Field.Kind == column.List; {
		from, to = from.Children[0], to.Children[0]
		if from.Nulls > 0 {
			v, err := b.Alloc((to.Len + 7) / 8)
			if err != nil {
				return err
			}
			to.Nulls = p.itemNulls(v, src, from, n, per, lengths)
			if to.Nulls > 0 {
				to.Valid = v
			}
		}
		per *= from.Field.ListSize
	}
	return nil
}

// itemNulls sets v to the validity of one level's values, of which there are per for each item, and
// returns how many are null.
func (p *padder) itemNulls(v []byte, src, level *column.Array, n, per int, lengths []int32) int {
	for i := range v {
		v[i] = 0xff
	}
	nulls := 0
	for i, l := range lengths {
		at, from := (i*n+p.gap(n, l))*per, p.first(src, i, l)*per
		for k := range int(l) * per {
			if level.IsNull(from + k) {
				v[(at+k)>>3] &^= 1 << ((at + k) & 7)
				nulls++
			}
		}
	}
	return nulls
}
