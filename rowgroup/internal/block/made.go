package block

import (
	"encoding/binary"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
)

// NewConstant returns a vector of n times one value: codes in memory of arena, and a dictionary in
// memory of keep.
func NewConstant(f *column.Field, value []byte, n int, arena, keep *mem.Arena) *Vector {
	v := &Vector{Field: f, Len: n, CodeWidth: 1, Codes: arena.Alloc(n)}
	clear(v.Codes)
	one := keep.Alloc(len(value))
	copy(one, value)
	v.Dict = &Vector{Field: f, Len: 1}
	if f.Kind == column.Binary {
		v.Dict.Views = []uint64{uint64(len(one))}
		v.Dict.Base = [][]byte{one}
	} else {
		v.Dict.Data = one
	}
	return v
}

// Numbered returns v with first+i in place of value i if that is null. The values of v are int64,
// plain or all null; they change.
func (v *Vector) Numbered(first uint64, arena *mem.Arena) *Vector {
	w := &Vector{Field: v.Field, Len: v.Len, Skip: v.Skip, Data: v.Data}
	if v.Nulls == v.Len {
		w.Data = arena.Alloc(8 * v.Len)
	}
	for i := range v.Len {
		if v.Nulls == v.Len || v.IsNull(i) {
			binary.LittleEndian.PutUint64(w.Data[8*i:], first+uint64(i))
		}
	}
	return w
}
