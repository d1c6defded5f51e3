package block

import (
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
)

// KeptLists returns lists that [List] made, whose items are int32, with their items one after
// another in memory of the arena. The items of field f are int32, or uint16 if all of them fit.
// Rows that share a list share it still.
func (v *Vector) KeptLists(f *column.Field, a *mem.Arena) *Vector {
	if v.Views == nil {
		return NewNull(f, v.Len)
	}
	ends := make([]int, len(v.Base)) // of the items of each chunk
	for _, view := range v.Views {
		if n := int(uint32(view)); n > 0 {
			chunk, at := v.chunkAt(view)
			ends[chunk] = max(ends[chunk], at+n)
		}
	}
	starts, size := make([]int, len(ends)), 0
	for i, end := range ends {
		starts[i], size = size, size+end
	}
	narrow := f.Children[0].Width == 2
	part := 4 / f.Children[0].Width
	text := a.Alloc(size / part)
	for i, end := range ends {
		to := text[starts[i]/part:][:end/part]
		if from := v.Base[i][:end]; narrow {
			narrowItems(mem.As[uint16](to), mem.As[int32](from))
		} else {
			copy(to, from)
		}
	}
	w := &Vector{Field: f, Len: v.Len, Nulls: v.Nulls, Valid: v.Valid, Base: [][]byte{text}, Children: []*Vector{NewNull(f.Children[0], 0)}}
	w.Views = mem.As[uint64](a.Alloc(8 * v.Len))[:v.Len]
	for i, view := range v.Views {
		w.Views[i] = 0
		if n := uint64(uint32(view)); n > 0 {
			chunk, at := v.chunkAt(view)
			w.Views[i] = uint64((starts[chunk]+at)/part)<<32 | n/uint64(part)
		}
	}
	return w
}

// chunkAt splits the place of a view in chunks.
func (v *Vector) chunkAt(view uint64) (chunk, at int) {
	begin := view >> 32
	return int(begin >> v.ChunkShift), int(begin & (1<<v.ChunkShift - 1))
}

func narrowItems(to []uint16, from []int32) {
	to = to[:len(from)]
	for i, n := range from {
		to[i] = uint16(n)
	}
}

// WideLists returns lists of uint16 as lists of int32, the items of f, in memory of the arena.
func (v *Vector) WideLists(f *column.Field, a *mem.Arena) *Vector {
	w := &Vector{Field: f, Len: v.Len, Skip: v.Skip, Nulls: v.Nulls, Valid: CopiedWords(a, v.Valid), Children: NewNull(f, 0).Children}
	if v.Views == nil {
		return w
	}
	lo, hi, sum := uint64(len(v.Base[0])), uint64(0), uint64(0)
	for _, view := range v.Views {
		if n := uint64(uint32(view)); n > 0 {
			lo, hi, sum = min(lo, view>>32), max(hi, view>>32+n), sum+n
		}
	}
	lo = min(lo, hi)
	w.Views = mem.As[uint64](a.Alloc(8 * v.Len))[:v.Len]
	if sum < hi-lo { // lists of other rows are among them
		w.Base = [][]byte{v.wideEach(w.Views, a.Alloc(int(2*sum)))}
		return w
	}
	text := a.Alloc(int(2 * (hi - lo)))
	wideItems(mem.As[int32](text), mem.As[uint16](v.Base[0][lo:hi]))
	for i, view := range v.Views {
		w.Views[i] = 0
		if n := uint64(uint32(view)); n > 0 {
			w.Views[i] = 2*(view>>32-lo)<<32 | 2*n
		}
	}
	w.Base = [][]byte{text}
	return w
}

// wideEach copies the lists of each row, and sets their views.
func (v *Vector) wideEach(views []uint64, text []byte) []byte {
	at := uint64(0)
	for i, view := range v.Views {
		n := uint64(uint32(view))
		wideItems(mem.As[int32](text[at:at+2*n]), mem.As[uint16](v.Base[0][view>>32:][:n]))
		views[i] = at<<32 | 2*n
		at += 2 * n
	}
	return text
}

func wideItems(to []int32, from []uint16) {
	to = to[:len(from)]
	for i, n := range from {
		to[i] = int32(n)
	}
}
