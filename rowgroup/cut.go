package rowgroup

import (
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
)

// A cutter copies rows of one column to a block.
type cutter struct {
	arena *mem.Arena // of the copies
	temp  *mem.Arena // until the column is done

	// few means that fewer than half of the unit's rows stay, so that nothing of the others may:
	// lists are copied item by item, and what few values need of a large dictionary.
	few    bool
	blocks int // that share a dictionary

	// The copies point into the dictionary of the decoded column, and into its text.
	dict, text bool
}

// piece copies the values skip+order[0], skip+order[1], .. of a vector, which is movable unless few
// rows are kept. Dictionaries are not copied, nor are wide values that were already spread over
// parts.
func (c *cutter) piece(v *block.Vector, skip int, order []uint32) (*block.Vector, error) {
	p := &block.Vector{Field: v.Field, Len: len(order), Stride: v.Stride, Children: v.Children}
	takeValid(p, v, skip, order, c.arena)
	switch {
	case v.Codes != nil && c.few && c.plainIsSmaller(v, skip, order):
		return p, c.lookUp(p, v, skip, order)
	case v.Codes != nil:
		p.Codes, p.CodeWidth, p.Dict, c.dict = pieceOf(v.Codes, v.CodeWidth, skip, order, c.arena), v.CodeWidth, v.Dict, true
	case v.Views != nil && v.ChunkShift != 0:
		p.Views, p.Base, p.ChunkShift = mem.As[uint64](pieceOf(mem.AsBytes(v.Views), 8, skip, order, c.arena)), v.Base, v.ChunkShift
	case v.Views != nil:
		return p, c.takeText(p, v, skip, order)
	case v.Field.Kind == column.List && v.Data != nil:
		p.Data = pieceOf(v.Data, v.Stride*v.Field.Children[0].Width, skip, order, c.arena)
	case v.Data != nil:
		p.Data = pieceOf(v.Data, v.Field.Width, skip, order, c.arena)
	case v.Field.Kind == column.Struct:
		p.Children = make([]*block.Vector, len(v.Children))
		for i, member := range v.Children {
			var err error
			if p.Children[i], err = c.piece(member, skip, order); err != nil {
				return nil, err
			}
		}
	case v.Offsets != nil || v.Stride > 0:
		return p, c.items(p, v, skip, order)
	}
	return p, nil
}

// items copies the items of lists, or the pairs of maps.
func (c *cutter) items(p, v *block.Vector, skip int, order []uint32) error {
	total := int64(0)
	for _, r := range order {
		lo, hi := v.ListRange(skip + int(r))
		total += int64(hi - lo)
	}
	if err := textBudget(total); err != nil {
		return err
	}
	p.Stride, p.Offsets = 0, mem.As[uint32](c.arena.Alloc(4*(len(order)+1)))
	items := mem.As[uint32](c.temp.Alloc(4 * int(total)))
	n := uint32(0)
	for i, r := range order {
		p.Offsets[i] = n
		for lo, hi := v.ListRange(skip + int(r)); lo < hi; lo++ {
			items[n] = lo
			n++
		}
	}
	p.Offsets[len(order)] = n
	child, err := c.piece(v.Children[0], 0, items)
	p.Children = []*block.Vector{child}
	return err
}

// plainIsSmaller reports whether values take less than codes and a block's share of their
// dictionary.
func (c *cutter) plainIsSmaller(v *block.Vector, skip int, order []uint32) bool {
	codes := len(order) * v.CodeWidth
	if v.Field.Kind == column.Fixed {
		return len(order)*v.Field.Width <= codes+len(v.Dict.Data)/c.blocks
	}
	most := codes + (len(v.Dict.Base[0])+8*v.Dict.Len)/c.blocks
	size := 8 * len(order)
	for i := 0; i < len(order) && size <= most; i++ {
		_, n := v.Value(skip + int(order[i]))
		size += int(n)
	}
	return size <= most
}

// lookUp copies the values of codes.
func (c *cutter) lookUp(p, v *block.Vector, skip int, order []uint32) error {
	if v.Field.Kind == column.Binary {
		return c.takeText(p, v, skip, order)
	}
	w := v.Field.Width
	p.Data = c.arena.Alloc(len(order) * w)
	for i, r := range order {
		k, dst := skip+int(r), p.Data[i*w:(i+1)*w]
		if v.Nulls > 0 && v.IsNull(k) {
			clear(dst)
		} else {
			copy(dst, v.Dict.Data[v.Code(k)*w:])
		}
	}
	return nil
}

// layTile is how many values are found before they are copied.
const layTile = 256

// takeText copies the bytes of values, one after another in their new order. Where values share
// bytes and their copies would be larger than all the text, the copies share it too.
func (c *cutter) takeText(p, v *block.Vector, skip int, order []uint32) error {
	size := textSize(v, skip, order)
	if v.Codes == nil && c.few && size > int64(len(v.Base[0])) {
		p.Views, p.Base, c.text = mem.As[uint64](pieceOf(mem.AsBytes(v.Views), 8, skip, order, c.arena)), v.Base, true
		return nil
	}
	if err := textBudget(size); err != nil {
		return err
	}
	p.Views = mem.As[uint64](c.arena.Alloc(8 * len(order)))
	text, at := c.arena.Alloc(int(size)), 0
	p.Base = [][]byte{text}
	if v.Codes != nil {
		for i, r := range order {
			from, n := v.Value(skip + int(r))
			p.Views[i] = uint64(at)<<32 | uint64(n)
			at += copy(text[at:], unsafe.Slice((*byte)(from), n))
		}
		return nil
	}
	var from [layTile]unsafe.Pointer
	var lens [layTile]uint32
	base := unsafe.Pointer(unsafe.SliceData(v.Base[0]))
	for lo := 0; lo < len(order); lo += layTile {
		tile, begin := order[lo:min(lo+layTile, len(order))], at
		for i, r := range tile {
			view := v.Views[skip+int(r)]
			from[i], lens[i] = unsafe.Add(base, uintptr(view>>32)), uint32(view)
			p.Views[lo+i] = uint64(at)<<32 | uint64(uint32(view))
			at += int(uint32(view))
		}
		block.CopyValues(text[begin:], from[:len(tile)], lens[:len(tile)])
	}
	return nil
}

// textSize adds up the bytes of some values.
func textSize(v *block.Vector, skip int, order []uint32) (size int64) {
	if v.Codes != nil {
		for _, r := range order {
			_, n := v.Value(skip + int(r))
			size += int64(n)
		}
		return size
	}
	for _, r := range order {
		size += int64(uint32(v.Views[skip+int(r)]))
	}
	return size
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
