package rowgroup

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

var errDivision = errors.New("the layout's order does not go through its parts one after the other")

// divide makes a block for each of the layout's parts.
func (d *Decoder) divide() error {
	l, rows := &d.layout, int(d.rows.Hi-d.rows.Lo)
	if err := checkOrder(l.Order, rows); err != nil {
		return err
	}
	counts := []int{rows}
	if l.Order != nil {
		counts[0] = len(l.Order)
	}
	if l.Parts > 1 {
		if l.Order == nil {
			l.Order = d.fileOrder()
		}
		counts = make([]int, l.Parts)
		part := 1
		for _, row := range l.Order {
			p := int(l.Part[row])
			if p < part || p > l.Parts {
				return errDivision
			}
			part = p
			counts[p-1]++
		}
	}
	d.keep = d.newArena()
	var shared *common
	if l.Parts > 1 {
		shared = &common{arena: d.keep}
		shared.users.Store(int32(l.Parts))
	}
	for _, n := range counts {
		b := &Block{
			rows: n, cols: make([]*vector, len(d.raw.columns)), arena: d.keep, common: shared,
			uri: d.raw.uri, rowGroup: d.raw.Rows.RowGroup, first: d.rows.Lo, inOrder: l.Order == nil,
		}
		if shared != nil {
			b.arena, shared.bearer = d.newArena(), b
		}
		b.refs.Store(1)
		d.blocks = append(d.blocks, b)
	}
	return nil
}

// checkOrder guards copies that have no further checks.
func checkOrder(order []uint32, rows int) error {
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

// fileOrder is the rows of the unit in the order in which they lie.
func (d *Decoder) fileOrder() []uint32 {
	order := mem.As[uint32](d.order.take(4 * int(d.rows.Hi-d.rows.Lo)))
	for i := range order {
		order[i] = uint32(i)
	}
	return order
}

// keptOrder is a copy of the order in memory of the blocks, made once for all columns that need it.
func (d *Decoder) keptOrder() []uint32 {
	if d.kept == nil {
		d.kept = mem.As[uint32](d.keep.Alloc(4 * len(d.layout.Order)))
		copy(d.kept, d.layout.Order)
	}
	return d.kept
}

// layOut copies a column's rows to the blocks, in their order: a gather then reads neighbouring
// values instead of one cache line for each. What the column was decoded to is then free for the
// next, unless its rows stay where they are. Where few rows are kept, all columns are copied: the
// blocks' memory is that of their rows.
func (d *Decoder) layOut(col int, v *vector) error {
	order, from := d.layout.Order, 0
	few := d.few()
	whole := len(d.blocks) == 1 && !d.raw.reachesOut()
	if !few && (!movable(v) || whole && v.isLong()) {
		d.keep.Adopt(d.loose)
		for _, b := range d.blocks {
			piece := *v
			if order != nil {
				piece.order, piece.n = d.keptOrder()[from:from+b.rows], b.rows
			}
			b.cols[col] = &piece
			from += b.rows
		}
		return nil
	}
	if order == nil {
		order = d.fileOrder()
	}
	c := cutter{temp: d.loose, few: few, blocks: len(d.blocks)}
	for _, b := range d.blocks {
		c.arena = b.arena
		piece, err := c.piece(v, v.skip, order[from:from+b.rows])
		if err != nil {
			return err
		}
		b.cols[col] = piece
		from += b.rows
	}
	if c.text {
		d.keep.Adopt(d.loose)
	}
	if c.dict {
		d.keep.Adopt(d.dicts)
	}
	d.loose.Free()
	d.dicts.Free()
	return nil
}

// movable says whether a column's rows can change places: not where lists own runs of items by
// their place, nor where values lie in the text once for many rows, which copies would multiply.
func movable(v *vector) bool {
	switch v.field.Kind {
	case column.Map:
		return false
	case column.List:
		return v.offsets == nil && (v.data != nil || v.views != nil || v.stride == 0)
	case column.Binary:
		return v.views == nil || v.chunkShift != 0 || viewedBytes(v.views) <= len(v.base[0])
	}
	return !slices.ContainsFunc(v.children, func(c *vector) bool { return !movable(c) })
}

// viewedBytes adds up the bytes of values.
func viewedBytes(views []uint64) (n int) {
	for _, view := range views {
		n += int(uint32(view))
	}
	return n
}

// isLong says whether values are so long that to copy them costs more than to read them one here
// and one there.
func (v *vector) isLong() bool {
	const most = 64 // bytes, a cache line
	size := len(v.data)
	if v.views != nil {
		size = len(v.base[0])
	}
	return size > most*v.n
}

func pieceOf(b []byte, w, skip int, order []uint32, arena *mem.Arena) []byte {
	out := arena.Alloc(len(order) * w)
	permuteValues(out, b, w, skip, order)
	return out
}

func (p *vector) takeValid(v *vector, skip int, order []uint32, arena *mem.Arena) {
	switch {
	case v.nulls == 0:
		return
	case v.valid == nil:
		p.nulls = len(order)
		return
	}
	p.valid = mem.As[uint64](arena.Alloc(8 * parquet.BitmapWords(len(order))))
	permuteBits(p.valid, v.valid, skip, order)
	p.nulls = len(order)
	for i := 0; i < len(order); i += 64 {
		p.nulls -= bits.OnesCount64(p.valid[i>>6] & parquet.LowBits(min(64, len(order)-i)))
	}
	if p.nulls == 0 {
		p.valid = nil
	}
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
