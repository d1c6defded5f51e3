package rowgroup

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
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
	from := block.Origin{URI: d.raw.uri, RowGroup: d.raw.Rows.RowGroup, First: d.rows.Lo, InOrder: l.Order == nil}
	d.blocks = block.NewParts(from, counts, len(d.raw.columns), d.keep, d.newArena)
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

// fileOrder is the rows of the unit in the order in which they are.
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
// values instead of one cache line for each. The next column can then reuse the memory that this
// one was decoded to, unless its rows are not copied. If few rows are kept, all columns are copied,
// so that blocks hold memory for their own rows only.
func (d *Decoder) layOut(col int, v *block.Vector) error {
	order, from := d.layout.Order, 0
	few := d.few()
	whole := len(d.blocks) == 1 && !d.raw.reachesOut()
	if !few && (!movable(v) || whole && isLong(v)) {
		d.keep.Adopt(d.loose)
		for _, b := range d.blocks {
			piece := *v
			if order != nil {
				piece.Order, piece.Len = d.keptOrder()[from:from+b.Rows()], b.Rows()
			}
			block.Columns(b)[col] = &piece
			from += b.Rows()
		}
		return nil
	}
	if order == nil {
		order = d.fileOrder()
	}
	c := cutter{temp: d.loose, few: few, blocks: len(d.blocks)}
	for _, b := range d.blocks {
		c.arena = block.Memory(b)
		piece, err := c.piece(v, v.Skip, order[from:from+b.Rows()])
		if err != nil {
			return err
		}
		block.Columns(b)[col] = piece
		from += b.Rows()
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

// movable reports whether a column's rows can be reordered: not if lists own runs of items by their
// place, nor if rows share values in the text, which copies would multiply.
func movable(v *block.Vector) bool {
	switch v.Field.Kind {
	case column.Map:
		return false
	case column.List:
		return v.Offsets == nil && (v.Data != nil || v.Views != nil || v.Stride == 0)
	case column.Binary:
		return v.Views == nil || v.ChunkShift != 0 || viewedBytes(v.Views) <= len(v.Base[0])
	}
	return !slices.ContainsFunc(v.Children, func(c *block.Vector) bool { return !movable(c) })
}

// viewedBytes adds up the bytes of values.
func viewedBytes(views []uint64) (n int) {
	for _, view := range views {
		n += int(uint32(view))
	}
	return n
}

// isLong reports whether values are so long that to copy them costs more than to read them one here
// and one there.
func isLong(v *block.Vector) bool {
	const most = 64 // bytes, a cache line
	size := len(v.Data)
	if v.Views != nil {
		size = len(v.Base[0])
	}
	return size > most*v.Len
}

func takeValid(p *block.Vector, v *block.Vector, skip int, order []uint32, arena *mem.Arena) {
	switch {
	case v.Nulls == 0:
		return
	case v.Valid == nil:
		p.Nulls = len(order)
		return
	}
	p.Valid = mem.As[uint64](arena.Alloc(8 * parquet.BitmapWords(len(order))))
	permuteBits(p.Valid, v.Valid, skip, order)
	p.Nulls = len(order)
	for i := 0; i < len(order); i += 64 {
		p.Nulls -= bits.OnesCount64(p.Valid[i>>6] & parquet.LowBits(min(64, len(order)-i)))
	}
	if p.Nulls == 0 {
		p.Valid = nil
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

func pieceOf(b []byte, w, skip int, order []uint32, arena *mem.Arena) []byte {
	out := arena.Alloc(len(order) * w)
	block.PermuteValues(out, b, w, skip, order)
	return out
}
