package block

import (
	"math/bits"
	"slices"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

// A Cutter copies rows of one column to a block.
type Cutter struct {
	Arena  *mem.Arena          // of the copies
	Temp   *mem.Arena          // until the column is done
	Budget func(n int64) error // refuses bytes of values that a block cannot name

	// Few means that fewer than half of the unit's rows stay, so that nothing of the others may:
	// lists are copied item by item, and what few values need of a large dictionary.
	Few    bool
	Blocks int // that share a dictionary

	// The copies point into the dictionary of the decoded column, and into its text.
	Dict, Text bool
}

// Piece copies the values skip+order[0], skip+order[1], .. of a vector, which is movable unless few
// rows are kept. Dictionaries are not copied, nor are wide values that were already spread over
// parts.
func (c *Cutter) Piece(v *Vector, skip int, order []uint32) (*Vector, error) {
	p := &Vector{Field: v.Field, Len: len(order), Stride: v.Stride, Children: v.Children}
	takeValid(p, v, skip, order, c.Arena)
	switch {
	case v.Codes != nil && c.Few && c.plainIsSmaller(v, skip, order):
		return p, c.lookUp(p, v, skip, order)
	case v.Codes != nil:
		p.Codes, p.CodeWidth, p.Dict, c.Dict = pieceOf(v.Codes, v.CodeWidth, skip, order, c.Arena), v.CodeWidth, v.Dict, true
	case v.Views != nil && v.ChunkShift != 0:
		p.Views, p.Base, p.ChunkShift = mem.As[uint64](pieceOf(mem.AsBytes(v.Views), 8, skip, order, c.Arena)), v.Base, v.ChunkShift
	case v.Views != nil:
		return p, c.takeText(p, v, skip, order)
	case v.Field.Kind == column.List && v.Data != nil:
		p.Data = pieceOf(v.Data, v.Stride*v.Field.Children[0].Width, skip, order, c.Arena)
	case v.Data != nil:
		p.Data = pieceOf(v.Data, v.Field.Width, skip, order, c.Arena)
	case v.Field.Kind == column.Struct:
		p.Children = make([]*Vector, len(v.Children))
		for i, member := range v.Children {
			var err error
			if p.Children[i], err = c.Piece(member, skip, order); err != nil {
				return nil, err
			}
		}
	case v.Offsets != nil || v.Stride > 0:
		return p, c.items(p, v, skip, order)
	}
	return p, nil
}

// items copies the items of lists, or the pairs of maps.
func (c *Cutter) items(p, v *Vector, skip int, order []uint32) error {
	total := int64(0)
	for _, r := range order {
		lo, hi := v.ListRange(skip + int(r))
		total += int64(hi - lo)
	}
	if err := c.Budget(total); err != nil {
		return err
	}
	p.Stride, p.Offsets = 0, mem.As[uint32](c.Arena.Alloc(4*(len(order)+1)))
	items := mem.As[uint32](c.Temp.Alloc(4 * int(total)))
	n := uint32(0)
	for i, r := range order {
		p.Offsets[i] = n
		for lo, hi := v.ListRange(skip + int(r)); lo < hi; lo++ {
			items[n] = lo
			n++
		}
	}
	p.Offsets[len(order)] = n
	child, err := c.Piece(v.Children[0], 0, items)
	p.Children = []*Vector{child}
	return err
}

// plainIsSmaller reports whether values take less than codes and a block's share of their
// dictionary.
func (c *Cutter) plainIsSmaller(v *Vector, skip int, order []uint32) bool {
	codes := len(order) * v.CodeWidth
	if v.Field.Kind == column.Fixed {
		return len(order)*v.Field.Width <= codes+len(v.Dict.Data)/c.Blocks
	}
	most := codes + (len(v.Dict.Base[0])+8*v.Dict.Len)/c.Blocks
	size := 8 * len(order)
	for i := 0; i < len(order) && size <= most; i++ {
		_, n := v.Value(skip + int(order[i]))
		size += int(n)
	}
	return size <= most
}

// lookUp copies the values of codes.
func (c *Cutter) lookUp(p, v *Vector, skip int, order []uint32) error {
	if v.Field.Kind == column.Binary {
		return c.takeText(p, v, skip, order)
	}
	w := v.Field.Width
	p.Data = c.Arena.Alloc(len(order) * w)
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
func (c *Cutter) takeText(p, v *Vector, skip int, order []uint32) error {
	size := textSize(v, skip, order)
	if v.Codes == nil && c.Few && size > int64(len(v.Base[0])) {
		p.Views, p.Base, c.Text = mem.As[uint64](pieceOf(mem.AsBytes(v.Views), 8, skip, order, c.Arena)), v.Base, true
		return nil
	}
	if err := c.Budget(size); err != nil {
		return err
	}
	p.Views = mem.As[uint64](c.Arena.Alloc(8 * len(order)))
	text, at := c.Arena.Alloc(int(size)), 0
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
		CopyValues(text[begin:], from[:len(tile)], lens[:len(tile)])
	}
	return nil
}

// textSize adds up the bytes of some values.
func textSize(v *Vector, skip int, order []uint32) (size int64) {
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

// Movable reports whether a column's rows can be reordered: not if lists own runs of items by their
// place, nor if rows share values in the text, which copies would multiply.
func (v *Vector) Movable() bool {
	switch v.Field.Kind {
	case column.Map:
		return false
	case column.List:
		return v.Offsets == nil && (v.Data != nil || v.Views != nil || v.Stride == 0)
	case column.Binary:
		return v.Views == nil || v.ChunkShift != 0 || ViewedBytes(v.Views) <= len(v.Base[0])
	}
	return !slices.ContainsFunc(v.Children, func(c *Vector) bool { return !c.Movable() })
}

// ViewedBytes adds up the bytes of values.
func ViewedBytes(views []uint64) (n int) {
	for _, view := range views {
		n += int(uint32(view))
	}
	return n
}

// IsLong reports whether values are so long that to copy them costs more than to read them one here
// and one there.
func (v *Vector) IsLong() bool {
	const most = 64 // bytes, a cache line
	size := len(v.Data)
	if v.Views != nil {
		size = len(v.Base[0])
	}
	return size > most*v.Len
}

func takeValid(p *Vector, v *Vector, skip int, order []uint32, arena *mem.Arena) {
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
	PermuteValues(out, b, w, skip, order)
	return out
}
