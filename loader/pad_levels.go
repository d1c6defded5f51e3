package loader

import (
	"fmt"
	"math/bits"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
)

// A padLevel is one level of the lists of a column that become dense.
type padLevel struct {
	src     *column.Array
	lists   []int32 // by place, the list of src; -1: padding. nil: place i has list i
	lengths []int32 // by place, after the cut
	length  int     // of all
}

// list is the list at a place; -1 for padding.
func (l *padLevel) list(place int) int {
	if l.lists == nil {
		return place
	}
	return int(l.lists[place])
}

// pad replaces the batch's column, which may be in memory of scratch, and adds lengths and mask in
// the batch's memory.
func (p *padder) pad(b *Batch, scratch column.Alloc) (err error) {
	src := b.Columns[p.at]
	levels := make([]padLevel, p.levels)
	shape := make([]int, 0, p.levels)
	at := src
	for i := range levels {
		l := &levels[i]
		l.src = at
		if i > 0 {
			if l.lists, err = p.within(&levels[i-1], scratch); err != nil {
				return err
			}
		}
		if l.lengths, err = AddTensor[int32](b, p.LengthsName(i), shape...); err != nil {
			return err
		}
		l.length = p.measure(l, i)
		shape = append(shape, l.length)
		if hi, lo := bits.Mul64(uint64(len(l.lengths)*len(p.fill)), uint64(l.length)); hi > 0 || lo > 1<<40 {
			return fmt.Errorf("%d lists of %d items do not fit one batch; give a smaller max", len(l.lengths), l.length)
		}
		at = at.Children[0]
	}
	dense, err := p.dense(b, levels, shape, scratch)
	if err != nil {
		return err
	}
	b.Columns[p.at] = dense
	return p.mask(b, &levels[p.levels-1], shape)
}

// mask adds the column that is true where an item is, if it has a name.
func (p *padder) mask(b *Batch, last *padLevel, shape []int) error {
	if p.Mask == "" {
		return nil
	}
	mask, err := AddTensor[bool](b, p.Mask, shape...)
	if err != nil {
		return err
	}
	for i, n := range last.lengths {
		at := i*last.length + p.gap(last.length, n)
		row := mask[at : at+int(n)]
		for k := range row {
			row[k] = true
		}
	}
	return nil
}

// measure sets the lengths of a level after the cut and returns the length of all.
func (p *padder) measure(l *padLevel, level int) int {
	size, declared := p.size(level), l.src.Field.ListSize
	longest := int32(1)
	for i := range l.lengths {
		list := l.list(i)
		if list < 0 || l.src.IsNull(list) {
			continue // AddTensor made it 0
		}
		lo, hi := l.src.Items(list)
		n := hi - lo
		if size.Max > 0 && declared == 0 {
			n = min(n, size.Max)
		}
		l.lengths[i] = int32(n)
		longest = max(longest, int32(n))
	}
	if declared > 0 {
		return declared
	}
	if p.ToMax {
		return size.Max
	}
	m := max(1, size.Multiple)
	return (int(longest) + m - 1) / m * m
}

// within returns the lists within a level's lists, by place.
func (p *padder) within(l *padLevel, scratch column.Alloc) ([]int32, error) {
	memory, err := scratch(4 * len(l.lengths) * l.length)
	if err != nil {
		return nil, err
	}
	lists := mem.As[int32](memory)
	for i := range lists {
		lists[i] = -1
	}
	for i, n := range l.lengths {
		at, first := i*l.length+p.gap(l.length, n), p.first(l, i)
		for k := range int(n) {
			lists[at+k] = int32(first + k)
		}
	}
	return lists, nil
}

// gap is how many places of padding come before a list's n items.
func (p *padder) gap(length int, n int32) int {
	if p.Left {
		return length - int(n)
	}
	return 0
}

// first is the first item that is kept of the list at a place; without items it means nothing.
func (p *padder) first(l *padLevel, place int) int {
	if l.lengths[place] == 0 {
		return 0
	}
	lo, hi := l.src.Items(l.list(place))
	if p.CutLeft {
		return hi - int(l.lengths[place])
	}
	return lo
}

// dense is the column of the shape, with its nulls.
func (p *padder) dense(b *Batch, levels []padLevel, shape []int, scratch column.Alloc) (*column.Array, error) {
	last, w := &levels[len(levels)-1], len(p.fill)
	row := last.length * w
	data, err := b.Alloc(len(last.lengths) * row)
	if err != nil {
		return nil, err
	}
	padding, err := scratch(row)
	if err != nil {
		return nil, err
	}
	for at := 0; at < len(padding); at += w {
		copy(padding[at:], p.fill)
	}
	items := leafOf(last.src).Data
	for i, n := range last.lengths {
		row := data[i*row : (i+1)*row]
		at, from := p.gap(last.length, n)*w, p.first(last, i)*w
		copy(row[:at], padding)
		end := at + copy(row[at:], items[from:from+int(n)*w])
		copy(row[end:], padding)
	}
	a := tensor(denseField(p.field, shape), b.Rows, data)
	return a, p.keepNulls(b, levels, a)
}

// denseField is a field of lists with lists of one length for its outer ones.
func denseField(f *column.Field, shape []int) *column.Field {
	if len(shape) == 0 {
		return f
	}
	to := *f
	to.ListSize, to.Children = shape[0], []*column.Field{denseField(f.Children[0], shape[1:])}
	return &to
}

func leafOf(a *column.Array) *column.Array {
	for a.Field.Kind == column.List {
		a = a.Children[0]
	}
	return a
}

// keepNulls gives the dense array the nulls of the ragged one, at each level; padding is not null.
func (p *padder) keepNulls(b *Batch, levels []padLevel, dst *column.Array) error {
	for i := range levels {
		l := &levels[i]
		if err := setNulls(b, l.src, dst, func(yield func(at, from int)) {
			for place := range l.lengths {
				if list := l.list(place); list >= 0 {
					yield(place, list)
				}
			}
		}); err != nil {
			return err
		}
		dst = dst.Children[0]
	}
	last := &levels[len(levels)-1]
	per := 1 // values of the level for each item
	for src := last.src.Children[0]; ; src, dst = src.Children[0], dst.Children[0] {
		if err := setNulls(b, src, dst, func(yield func(at, from int)) {
			for place, n := range last.lengths {
				at, from := (place*last.length+p.gap(last.length, n))*per, p.first(last, place)*per
				for k := range int(n) * per {
					yield(at+k, from+k)
				}
			}
		}); err != nil || src.Field.Kind != column.List {
			return err
		}
		per *= src.Field.ListSize
	}
}

// setNulls gives dst the nulls of src, if it has some; each calls a function with the places of the
// values in both.
func setNulls(b *Batch, src, dst *column.Array, each func(func(at, from int))) error {
	if src.Nulls == 0 {
		return nil
	}
	valid, err := b.Alloc((dst.Len + 7) / 8)
	if err != nil {
		return err
	}
	for i := range valid {
		valid[i] = 0xff
	}
	nulls := 0
	each(func(at, from int) {
		if src.IsNull(from) {
			valid[at>>3] &^= 1 << (at & 7)
			nulls++
		}
	})
	if nulls > 0 {
		dst.Valid, dst.Nulls = valid, nulls
	}
	return nil
}
