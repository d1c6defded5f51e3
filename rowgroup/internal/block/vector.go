package block

import (
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
)

// A Vector is one node of a block's columns: Len values in one of the forms that the package's
// documentation lists.
type Vector struct {
	Field *column.Field
	Len   int
	Nulls int
	Valid []uint64 // bit i of word i/64 is 1 if value i is present; nil if Nulls is 0

	// Of the vector at the top of a column: row i of the block is value Skip+i, or Skip+Order[i].
	// The values before Skip were decoded because their page was; Order is set where the values
	// could not be laid out in the order of the rows.
	Skip  int
	Order []uint32

	Data []byte // values of Field.Width bytes, or items of flat lists of Stride items

	Codes     []byte  // positions in Dict, of CodeWidth bytes, zero under a null
	CodeWidth int     // 1, 2 or 4
	Dict      *Vector // plain or views, without nulls

	// Views[i] is begin<<32|bytes of value i, in Base[0] if ChunkShift is 0, else at the low bits
	// of begin in Base[begin>>ChunkShift].
	Views      []uint64
	Base       [][]byte
	ChunkShift uint

	Offsets  []uint32 // value i has the items Offsets[i] to Offsets[i+1] of the child
	Stride   int      // items of each list where all have as many
	Children []*Vector

	// In an image, the value, code or view of value i is at Slots[i*Step], and it is present if
	// Marks[i*Step] has the bit Mark. Marks is nil if no value is null.
	Slots  []byte
	Slot   int // byte of a record at which slots are
	Step   int // bytes of a record
	Marks  []byte
	MarkAt int // byte of a record at which marks are
	Mark   byte
}

// IsNull reports whether value i is null, of a vector with nulls.
func (v *Vector) IsNull(i int) bool {
	if v.Marks != nil {
		return v.Marks[i*v.Step]&v.Mark == 0
	}
	return v.Valid == nil || v.Valid[i>>6]>>(i&63)&1 == 0
}

// Place returns the position of row i of the block among the values.
func (v *Vector) Place(i int) int {
	if v.Order != nil {
		i = int(v.Order[i])
	}
	return v.Skip + i
}

func (v *Vector) bytesOf(i int) []byte {
	if v.Field.Kind == column.Fixed && v.Slots != nil {
		return v.Slots[i*v.Step:][:v.Field.Width]
	}
	if v.Field.Kind == column.Fixed {
		return v.Data[i*v.Field.Width : (i+1)*v.Field.Width]
	}
	p, n := v.Value(i)
	return unsafe.Slice((*byte)(p), n)
}

// Value returns the address of value i of a Binary vector, and its length in bytes.
func (v *Vector) Value(i int) (unsafe.Pointer, uint32) {
	switch {
	case v.Dict != nil:
		if v.Nulls > 0 && v.IsNull(i) { // a null's code is 0, which is an entry's too
			return unsafe.Pointer(&zeros), 0
		}
		return v.Dict.Value(v.Code(i))
	case v.Views == nil && v.Slots == nil:
		return unsafe.Pointer(&zeros), 0
	}
	return v.view(i)
}

// view is value i of a vector with views.
func (v *Vector) view(i int) (unsafe.Pointer, uint32) {
	w := uint64(0)
	if v.Slots != nil {
		w = *(*uint64)(unsafe.Pointer(&v.Slots[i*v.Step]))
	} else {
		w = v.Views[i]
	}
	begin, n := uintptr(w>>32), uint32(w)
	if v.ChunkShift == 0 {
		return unsafe.Add(unsafe.Pointer(unsafe.SliceData(v.Base[0])), begin), n
	}
	if n == 0 {
		return unsafe.Pointer(&zeros), 0
	}
	chunk := v.Base[begin>>v.ChunkShift]
	return unsafe.Add(unsafe.Pointer(unsafe.SliceData(chunk)), begin&(1<<v.ChunkShift-1)), n
}

// Code returns the position of value i in the dictionary.
func (v *Vector) Code(i int) int {
	p, step := unsafe.Pointer(unsafe.SliceData(v.Codes)), v.CodeWidth
	if v.Slots != nil {
		p, step = unsafe.Pointer(unsafe.SliceData(v.Slots)), v.Step
	}
	p = unsafe.Add(p, i*step)
	switch v.CodeWidth {
	case 1:
		return int(*(*uint8)(p))
	case 2:
		return int(*(*uint16)(p))
	}
	return int(*(*uint32)(p))
}

// ItemBytes returns the address of the items of list i and their length in bytes; items are Fixed
// of width w.
func (v *Vector) ItemBytes(i, w int) (unsafe.Pointer, uint32) {
	switch {
	case v.Views != nil || v.Slots != nil:
		return v.view(i)
	case v.Data != nil:
		n := v.Stride * w
		if v.Nulls > 0 && v.IsNull(i) {
			n = 0
		}
		return unsafe.Add(unsafe.Pointer(unsafe.SliceData(v.Data)), i*v.Stride*w), uint32(n)
	case v.Offsets != nil:
		lo, hi := v.Offsets[i], v.Offsets[i+1]
		if d := v.Children[0].Data; d != nil {
			return unsafe.Add(unsafe.Pointer(unsafe.SliceData(d)), int(lo)*w), (hi - lo) * uint32(w)
		}
	}
	return unsafe.Pointer(&zeros), 0
}

// HasItemNulls reports whether items of a List vector of Fixed items may be null.
func (v *Vector) HasItemNulls() bool {
	return v.Offsets != nil && v.Children[0].Nulls > 0
}

// ListRange returns the range of the items of list i, of a vector with offsets or a stride.
func (v *Vector) ListRange(i int) (lo, hi uint32) {
	if v.Offsets != nil {
		return v.Offsets[i], v.Offsets[i+1]
	}
	if v.Nulls > 0 && v.IsNull(i) {
		return 0, 0
	}
	return uint32(i * v.Stride), uint32((i + 1) * v.Stride)
}

// NewNull returns a vector of n nulls of a field, without storage.
func NewNull(f *column.Field, n int) *Vector {
	v := &Vector{Field: f, Len: n, Nulls: n}
	if n == 0 && f.Kind == column.List || f.Kind == column.Map && n == 0 {
		v.Offsets = []uint32{0}
	}
	for _, c := range f.Children {
		k := n
		if f.Kind != column.Struct {
			k = 0
		}
		v.Children = append(v.Children, NewNull(c, k))
	}
	return v
}

// IsSlot reports whether the vector has a fixed-width value, code or view for each row.
func (v *Vector) IsSlot() bool {
	if v.Nulls > 0 && v.Valid == nil {
		return false
	}
	return v.Codes != nil || v.Views != nil || v.Data != nil && v.Field.Kind == column.Fixed
}

// CodeWidth is the number of bytes of a code into n values.
func CodeWidth(n int) int {
	switch {
	case n <= 1<<8:
		return 1
	case n <= 1<<16:
		return 2
	}
	return 4
}
