package rowgroup

import (
	"errors"
	"fmt"

	"github.com/shardfeed/shardfeed/internal/mem"
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
	d.target = d.newTarget(counts)
	return nil
}

// newTarget returns a block for each count of rows.
func (d *Decoder) newTarget(counts []int) target {
	keep := d.newArena()
	from := block.Origin{URI: d.raw.uri, RowGroup: d.raw.Rows.RowGroup, First: d.rows.Lo, InOrder: d.layout.Order == nil}
	return target{keep: keep, blocks: block.NewParts(from, counts, d.width, keep, d.newArena)}
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
	if !few && (!v.Movable() || whole && v.IsLong()) {
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
	c := block.Cutter{Temp: d.loose, Budget: textBudget, Few: few, Blocks: len(d.blocks)}
	for _, b := range d.blocks {
		c.Arena = block.Memory(b)
		piece, err := c.Piece(v, v.Skip, order[from:from+b.Rows()])
		if err != nil {
			return err
		}
		block.Columns(b)[col] = piece
		from += b.Rows()
	}
	if c.Text {
		d.keep.Adopt(d.loose)
	}
	if c.Dict {
		d.keep.Adopt(d.dicts)
	}
	d.loose.Free()
	d.dicts.Free()
	return nil
}

// rowsKept marks the rows of the order, if it leaves some out.
func (d *Decoder) rowsKept() []uint64 {
	rows, order := int(d.rows.Hi-d.rows.Lo), d.layout.Order
	if order == nil || len(order) == rows {
		return nil
	}
	kept := mem.As[uint64](d.chosen.take(8 * ((rows + 63) / 64)))
	clear(kept)
	for _, r := range order {
		kept[r/64] |= 1 << (r % 64)
	}
	return kept
}

// few reports whether fewer than half of the unit's rows are kept.
func (d *Decoder) few() bool {
	return d.layout.Order != nil && int64(2*len(d.layout.Order)) < d.rows.Hi-d.rows.Lo
}
