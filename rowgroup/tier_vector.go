package rowgroup

import (
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

// fits says whether the buffers of a node are as long as its values need.
func (v *vector) fits(x *imageNode) bool {
	n, f := v.n, v.field
	ok := v.valid == nil || len(v.valid) >= parquet.BitmapWords(n)
	switch {
	case v.codes != nil:
		ok = ok && (v.codeWidth == 1 || v.codeWidth == 2 || v.codeWidth == 4) && len(v.codes) == n*v.codeWidth && x.dict
	case v.views != nil:
		ok = ok && len(v.views) == n
	case v.offsets != nil:
		ok = ok && len(v.offsets) == n+1
	case f.Kind == column.List && v.data != nil:
		ok = ok && len(f.Children) == 1 && len(v.data) == n*v.stride*f.Children[0].Width
	case v.data != nil:
		ok = ok && len(v.data) == n*f.Width
	}
	return ok
}

// cut leaves the rows from to of a column of a whole row group, and up to 63 before them.
func (v *vector) cut(from, to int64) error {
	if from < 0 || to > int64(v.n) || from > to {
		return errImage
	}
	if v.field.Kind == column.Struct || v.stride > 0 && v.data == nil { // members, or items, are counted from the first row on
		v.skip, v.n = int(from), int(to)
		return nil
	}
	lo, hi := int(from)&^63, int(to)
	v.skip, v.n = int(from)-lo, hi-lo
	if v.valid != nil {
		v.valid = v.valid[lo/64:]
	}
	switch {
	case v.codes != nil:
		v.codes = v.codes[lo*v.codeWidth : hi*v.codeWidth]
	case v.views != nil:
		v.views = v.views[lo:hi]
	case v.offsets != nil:
		v.offsets = v.offsets[lo : hi+1]
	case v.field.Kind == column.List && v.data != nil:
		w := v.stride * v.field.Children[0].Width
		v.data = v.data[lo*w : hi*w]
	case v.data != nil:
		v.data = v.data[lo*v.field.Width : hi*v.field.Width]
	}
	return nil
}

// apart is a vector whose slots stand one behind the other, without those of other columns: of all
// rows, or of those of an order.
func (v *vector) apart(order []uint32, a *mem.Arena) *vector {
	if v.slots == nil {
		return v
	}
	w := *v
	at := func(i int) int { return i }
	if order != nil {
		w.n, at = len(order), func(i int) int { return int(order[i]) }
	}
	w.slots, w.marks, w.slot, w.step = nil, nil, 0, 0
	n := int(slotWidth(v.field, v.codeWidth))
	slots := a.Alloc(w.n * n)
	for i := range w.n {
		copy(slots[i*n:(i+1)*n], v.slots[at(i)*v.step:])
	}
	switch {
	case v.dict != nil:
		w.codes = slots
	case v.field.Kind == column.Fixed:
		w.data = slots
	default:
		w.views = mem.As[uint64](slots)[:w.n]
	}
	if v.marks != nil {
		m := parquet.Bitmap(mem.As[uint64](a.Alloc(8 * parquet.BitmapWords(w.n))))
		clear(m)
		for i := range w.n {
			if !v.isNull(at(i)) {
				m[i>>6] |= 1 << (i & 63)
			}
		}
		w.valid = m
	}
	return &w
}

// copied is a vector in memory of the arenas: values, and dictionaries.
func (v *vector) copied(a, dict *mem.Arena) *vector {
	w := *v.apart(nil, a)
	if v.slots == nil {
		w.valid, w.views = copiedWords(a, v.valid), copiedWords(a, v.views)
		w.data, w.codes = copiedBytes(a, v.data), copiedBytes(a, v.codes)
	}
	w.offsets, w.base = copiedWords(a, v.offsets), nil
	for _, b := range v.base {
		w.base = append(w.base, copiedText(a, b))
	}
	if v.dict != nil {
		w.dict = v.dict.copied(dict, dict)
	}
	w.children = nil
	for _, c := range v.children {
		w.children = append(w.children, c.copied(a, dict))
	}
	return &w
}

func copiedBytes(a *mem.Arena, b []byte) []byte {
	if b == nil {
		return nil
	}
	return copiedText(a, b)
}

// copiedText is never nil: views point into it.
func copiedText(a *mem.Arena, b []byte) []byte {
	c := a.Alloc(len(b))
	copy(c, b)
	return c
}

func copiedWords[T uint32 | uint64](a *mem.Arena, words []T) []T {
	if words == nil {
		return nil
	}
	return mem.As[T](copiedText(a, mem.AsBytes(words)))[:len(words)]
}
