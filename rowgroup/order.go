package rowgroup

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
)

// orderedRow is the size of a list of one length up to which its items are moved when rows are laid
// in another order; larger ones get views.
const orderedRow = 64

// layOut checks Layout.Order and lays a column's rows in it. Rows that leave the shuffle buffer
// together then lie side by side, so a gather reads neighbouring values instead of one cache line
// for each; the rows of one column of a unit fit the cache while they are moved.
func (d *Decoder) layOut(v *vector) *vector {
	order := d.layout.Order
	switch {
	case order == nil:
	case movable(v):
		d.move(v, v.skip, order)
		v.skip = 0
	default:
		v.order, v.n = d.keptOrder(), len(order)
	}
	return v
}

// checkOrder guards moves that have no further checks.
func checkOrder(order []uint32, rows int) error {
	if order == nil {
		return nil
	}
	if len(order) > rows { // more than there is room for
		return fmt.Errorf("an order of %d rows for a unit of %d", len(order), rows)
	}
	for _, r := range order {
		if int(r) >= rows {
			return fmt.Errorf("an order with row %d for a unit of %d", r, rows)
		}
	}
	return nil
}

// keptOrder is a copy of the order in the block's memory, made once for all columns that need it.
func (d *Decoder) keptOrder() []uint32 {
	if d.kept == nil {
		d.kept = mem.AsU32(d.keep.Alloc(4 * len(d.layout.Order)))
		copy(d.kept, d.layout.Order)
	}
	return d.kept
}

// movable says whether a column's rows can change places: not where lists own runs of items by
// their place.
func movable(v *vector) bool {
	if v.offsets != nil || v.field.Kind == column.Map || v.field.Kind == column.List && v.data == nil && v.views == nil && v.stride > 0 {
		return false
	}
	if v.field.Kind == column.List && len(v.data) > math.MaxUint32 {
		return false // further than a view reaches
	}
	if v.field.Kind != column.Struct {
		return true
	}
	for _, c := range v.children {
		if !movable(c) {
			return false
		}
	}
	return true
}

// move lays values skip+order[0], skip+order[1], .. of v at its front.
func (d *Decoder) move(v *vector, skip int, order []uint32) {
	n := len(order)
	if v.valid != nil {
		d.moveBits(v.valid, skip, order)
	}
	switch {
	case v.codes != nil:
		d.moveValues(v.codes, v.codeWidth, skip, order)
	case v.views != nil:
		d.moveValues(mem.AsBytes(v.views), 8, skip, order)
	case v.field.Kind == column.List && v.data != nil:
		d.moveLists(v, skip, order)
	case v.data != nil:
		d.moveValues(v.data, v.field.Width, skip, order)
	case v.field.Kind == column.Struct:
		for _, c := range v.children {
			d.move(c, skip, order)
		}
	}
	v.n = n
}

// moveLists moves lists of one length whose items are Fixed.
func (d *Decoder) moveLists(v *vector, skip int, order []uint32) {
	w := v.stride * v.field.Children[0].Width
	if w <= orderedRow {
		d.moveValues(v.data, w, skip, order)
		return
	}
	v.views = mem.AsU64(d.arena.Alloc(8 * len(order)))
	for i, r := range order {
		row := skip + int(r)
		v.views[i] = uint64(row*w)<<32 | uint64(w)
	}
	v.base = [][]byte{v.data}
	for i := range order {
		if v.nulls > 0 && v.isNull(i) {
			v.views[i] = 0
		}
	}
	v.data, v.stride = nil, 0
}

// moveValues moves values of w bytes. They go through scratch, which is warm, so that they stay in
// the memory that the block has.
func (d *Decoder) moveValues(b []byte, w, skip int, order []uint32) {
	from := d.moved.take(len(b))
	copy(from, b)
	permuteValues(b, from, w, skip, order)
}

// permuteValues copies values skip+order[0], skip+order[1], .. of w bytes to dst.
func permuteValues(dst, from []byte, w, skip int, order []uint32) {
	src := unsafe.Add(unsafe.Pointer(unsafe.SliceData(from)), skip*w)
	switch w {
	case 1:
		permute[uint8](dst, src, order)
	case 2:
		permute[uint16](dst, src, order)
	case 4:
		permute[uint32](dst, src, order)
	case 8:
		permute[uint64](dst, src, order)
	default:
		for i, r := range order {
			copy(dst[i*w:i*w+w], unsafe.Slice((*byte)(unsafe.Add(src, int(r)*w)), w))
		}
	}
}

func permute[T uint8 | uint16 | uint32 | uint64](dst []byte, src unsafe.Pointer, order []uint32) {
	if len(order) == 0 {
		return
	}
	out := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(dst))), len(order))
	for i, r := range order {
		out[i] = *(*T)(unsafe.Add(src, uintptr(r)*unsafe.Sizeof(*new(T))))
	}
}

// moveBits moves the bits of a bitmap.
func (d *Decoder) moveBits(b []uint64, skip int, order []uint32) {
	from := mem.AsU64(d.moved.take(8 * len(b)))
	copy(from, b)
	permuteBits(b, from, skip, order)
}

func permuteBits(b, from []uint64, skip int, order []uint32) {
	var word uint64
	for i, r := range order {
		k := uint(skip) + uint(r)
		word |= from[k>>6] >> (k & 63) & 1 << (i & 63)
		if i&63 == 63 {
			b[i>>6], word = word, 0
		}
	}
	if n := len(order); n&63 != 0 {
		b[n>>6] = word
	}
}
