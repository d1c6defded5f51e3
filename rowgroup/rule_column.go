package rowgroup

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/rule"
)

// column shows a rule the values of a decoded column for the rows of the unit. It copies nothing
// that the rule can read as it is.
func (h *heldRules) column(b *boundRule, v *block.Vector, rows int) (rule.Column, error) {
	if p := b.node.Partition; p != nil {
		return constantColumn(b.node.Field, p), nil
	}
	if rows == 0 {
		f := b.node.Field
		for range b.depth {
			f = f.Children[0]
		}
		return nullColumn(f, 0), nil
	}
	begin, skip := len(h.present), v.Skip
	for depth := b.depth; depth > 0; depth-- {
		if allNull(v) {
			f := v.Field
			for ; depth > 0; depth-- {
				f = f.Children[0]
			}
			return nullColumn(f, rows), nil
		}
		h.addPresent(v, skip, rows)
		v = v.Children[0]
	}
	if allNull(v) || v.Codes != nil && v.Dict.Len == 0 {
		return nullColumn(v.Field, rows), nil
	}
	c := rule.Column{Values: &column.Array{Field: v.Field, Len: rows, Nulls: v.Nulls}}
	err := h.values(&c, b, v, skip)
	c.Present = h.present[begin:len(h.present):len(h.present)]
	return c, err
}

// values gives a column the values skip.. of a vector, some of which are there.
func (h *heldRules) values(c *rule.Column, b *boundRule, v *block.Vector, skip int) error {
	a := c.Values
	rows := a.Len
	if v.Codes != nil {
		h.addPresent(v, skip, rows)
		c.Codes, c.CodeWidth = v.Codes[skip*v.CodeWidth:][:rows*v.CodeWidth], v.CodeWidth
		*a = column.Array{Field: v.Field, Len: v.Dict.Len, Data: v.Dict.Data}
		if v.Field.Kind == column.Binary {
			return h.text(a, v.Dict, 0)
		}
		return nil
	}
	if v.Valid != nil { // a vector may count the nulls of rows outside of the unit that its pages hold
		a.Nulls = rows - parquet.Bitmap(v.Valid).Ones(skip, rows)
	}
	a.Valid = h.bits(v, skip, rows)
	switch {
	case v.Field.Kind == column.Fixed:
		a.Data = v.Data[skip*v.Field.Width:][:rows*v.Field.Width]
	case v.Field.Kind == column.Binary:
		return h.text(a, v, skip)
	case v.Field.Kind == column.Struct:
	case b.whole:
		return h.whole(a, v, skip)
	default:
		h.lengths(a, v, skip)
	}
	return nil
}

// allNull reports whether a vector has no storage for its values, since all are null.
func allNull(v *block.Vector) bool {
	return v.Field.Kind == column.Null || v.Len > 0 && v.Nulls == v.Len && v.Valid == nil
}

func nullColumn(f *column.Field, rows int) rule.Column {
	return rule.Column{Values: &column.Array{Field: f, Len: rows, Nulls: rows}}
}

// constantColumn is a partition's value.
func constantColumn(f *column.Field, p *schema.PartitionValue) rule.Column {
	a := &column.Array{Field: f, Len: 1, Data: p.Data}
	switch {
	case p.Null:
		a.Nulls = 1
	case f.Kind == column.Binary:
		a.Offsets = []int32{0, int32(len(p.Data))}
	}
	return rule.Column{Constant: true, Values: a}
}

func (h *heldRules) addPresent(v *block.Vector, skip, rows int) {
	if b := h.bits(v, skip, rows); b != nil {
		h.present = append(h.present, b)
	}
}

// bits returns the validity of values skip.., or nil if the vector has no nulls.
func (h *heldRules) bits(v *block.Vector, skip, rows int) []byte {
	if v.Nulls == 0 || v.Valid == nil {
		return nil
	}
	if skip%8 == 0 {
		return mem.AsBytes(v.Valid)[skip/8:]
	}
	from := parquet.Bitmap(v.Valid)
	to := mem.As[uint64](h.arena.Alloc(8 * parquet.BitmapWords(rows)))
	for i := 0; i < rows; i += 64 {
		to[i>>6] = from.At(skip + i)
	}
	return mem.AsBytes(to)
}

// offsets returns room for n+1 of them.
func (h *heldRules) offsets(n int) []int32 {
	o := mem.As[int32](h.arena.Alloc(4 * (n + 1)))
	o[0] = 0
	return o
}

// text gives an array the bytes of views skip... Where values are apart in one text, as they do
// behind their lengths, they move together and the views with them.
func (h *heldRules) text(a *column.Array, v *block.Vector, skip int) error {
	views := v.Views[skip:][:a.Len]
	size, last, ascending := uint64(0), uint64(0), true
	for _, view := range views {
		if n := view & math.MaxUint32; n > 0 {
			ascending = ascending && view>>32 >= last
			last = view>>32 + n
			size += n
		}
	}
	if size > math.MaxInt32 {
		return &sizeError{err: fmt.Errorf("%d bytes of a rule's values in one unit, %d at most", size, math.MaxInt32), hint: "write smaller row groups"}
	}
	a.Offsets = h.offsets(a.Len)
	from := v.Base[0]
	a.Data = from
	if !ascending {
		a.Data = h.arena.Alloc(int(size))
	}
	at := uint64(0)
	for i, view := range views {
		begin, n := view>>32, view&math.MaxUint32
		if n > 0 {
			copy(a.Data[at:at+n], from[begin:begin+n])
		}
		if ascending {
			views[i] = at<<32 | n
		}
		at += n
		a.Offsets[i+1] = int32(at)
	}
	return nil
}

// lengths gives a list its offsets.
func (h *heldRules) lengths(a *column.Array, v *block.Vector, skip int) {
	if v.Offsets != nil {
		a.Offsets = unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(v.Offsets[skip:]))), a.Len+1)
		return
	}
	a.Offsets = h.offsets(a.Len)
	if v.Views == nil {
		for i := range a.Len {
			a.Offsets[i+1] = int32((i + 1) * v.Stride)
		}
		return
	}
	at, w := int32(0), uint32(v.Children[0].Field.Width)
	for i, view := range v.Views[skip:][:a.Len] {
		at += int32(uint32(view) / w)
		a.Offsets[i+1] = at
	}
}

// whole gives a list or map its items too.
func (h *heldRules) whole(a *column.Array, v *block.Vector, skip int) error {
	h.picks = h.picks[:0]
	for i := range a.Len {
		h.picks = append(h.picks, MakePick(0, skip+i))
	}
	all, err := block.Gather(&h.gather, v, h.picks, func(n int) ([]byte, error) { return h.arena.Alloc(n), nil })
	if err == nil {
		*a = *all
	}
	return err
}
