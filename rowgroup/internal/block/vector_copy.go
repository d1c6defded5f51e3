package block

import (
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

// Apart returns the vector with its slots taken out of records and stored one after another: of
// all rows, or the rows of an order.
func (v *Vector) Apart(order []uint32, a *mem.Arena) *Vector {
	if v.Slots == nil {
		return v
	}
	w := *v
	at := func(i int) int { return i }
	if order != nil {
		w.Len, at = len(order), func(i int) int { return int(order[i]) }
	}
	w.Slots, w.Marks, w.Slot, w.Step = nil, nil, 0, 0
	n := int(SlotWidth(v.Field, v.CodeWidth))
	slots := a.Alloc(w.Len * n)
	for i := range w.Len {
		copy(slots[i*n:(i+1)*n], v.Slots[at(i)*v.Step:])
	}
	switch {
	case v.Dict != nil:
		w.Codes = slots
	case v.Field.Kind == column.Fixed:
		w.Data = slots
	default:
		w.Views = mem.As[uint64](slots)[:w.Len]
	}
	if v.Marks != nil {
		m := parquet.Bitmap(mem.As[uint64](a.Alloc(8 * parquet.BitmapWords(w.Len))))
		clear(m)
		for i := range w.Len {
			if !v.IsNull(at(i)) {
				m[i>>6] |= 1 << (i & 63)
			}
		}
		w.Valid = m
	}
	return &w
}

// Copied returns a copy in memory of two arenas, for values and for dictionaries.
func (v *Vector) Copied(a, dict *mem.Arena) *Vector {
	w := *v.Apart(nil, a)
	if v.Slots == nil {
		w.Valid, w.Views = CopiedWords(a, v.Valid), CopiedWords(a, v.Views)
		w.Data, w.Codes = copiedBytes(a, v.Data), copiedBytes(a, v.Codes)
	}
	w.Offsets, w.Base = CopiedWords(a, v.Offsets), nil
	for _, b := range v.Base {
		w.Base = append(w.Base, copiedText(a, b))
	}
	if v.Dict != nil {
		w.Dict = v.Dict.Copied(dict, dict)
	}
	w.Children = nil
	for _, c := range v.Children {
		w.Children = append(w.Children, c.Copied(a, dict))
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

// CopiedWords returns a copy of words in memory of the arena; nil stays nil.
func CopiedWords[T uint32 | uint64](a *mem.Arena, words []T) []T {
	if words == nil {
		return nil
	}
	return mem.As[T](copiedText(a, mem.AsBytes(words)))[:len(words)]
}

// SlotWidth returns the bytes of a slot, which is a value, a code or a view.
func SlotWidth(f *column.Field, codeWidth int) int64 {
	switch {
	case codeWidth > 0:
		return int64(codeWidth)
	case f.Kind == column.Fixed:
		return int64(f.Width)
	}
	return 8
}
