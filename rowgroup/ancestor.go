package rowgroup

import (
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

var errAgree = fmt.Errorf("%w: leaves of one group do not agree", parquet.ErrLevels)

// ancestor assembles the i-th ancestor of a leaf from the leaf's levels. The first leaf below it
// makes its vector; the others must agree with it.
func (a *assembly) ancestor(i int, c *leafDecoder, s *nestedShape) error {
	p := &a.path[i]
	outerRep, outerDef := 0, 0 // of the list around it
	for _, q := range a.path[:i] {
		if q.node.Field.Kind != column.Struct {
			outerRep, outerDef = q.node.Rep, q.node.RepDef
		}
	}
	v := &block.Vector{Field: p.node.Field}
	bits, offsets := parquet.Bitmap(nil), []uint32(nil)
	switch {
	case !s.expanded:
		v.Len = s.entries
		if v.Field.Kind != column.Struct { // there are no entries
			offsets = []uint32{0}
		}
	case v.Field.Kind == column.Struct:
		bits = a.structBits(v, p.node, s, outerRep, outerDef)
	default:
		var err error
		if bits, offsets, err = a.listBits(v, p.node, s, outerRep, outerDef); err != nil {
			return err
		}
	}
	if p.vec == nil {
		p.vec = v
		keepShape(v, c, bits, offsets)
		return checkListSize(v, v.Offsets)
	}
	return agree(p.vec, v, bits, offsets)
}

// structBits finds which structs are null. An entry starts a value here when it repeats nothing
// inside of it, and when the list around it has an element.
func (a *assembly) structBits(v *block.Vector, n *schema.Node, s *nestedShape, outerRep, outerDef int) parquet.Bitmap {
	m := a.bits(len(s.def))
	if len(s.rep) == 0 {
		v.Len = len(s.def)
		for i, d := range s.def {
			if int(d) >= n.Def {
				m.Or(i, 1)
			} else {
				v.Nulls++
			}
		}
		return m
	}
	count, nulls := 0, 0
	reps, from, least, there := s.rep[:len(s.def)], byte(outerRep), byte(outerDef), byte(n.Def)
	for i, d := range s.def {
		if reps[i] > from || d < least {
			continue
		}
		if d >= there {
			m.Or(count, 1)
		} else {
			nulls++
		}
		count++
	}
	v.Len, v.Nulls = count, nulls
	return m
}

// listBits finds which lists are null and where their items start.
func (a *assembly) listBits(v *block.Vector, n *schema.Node, s *nestedShape, outerRep, outerDef int) (parquet.Bitmap, []uint32, error) {
	m := a.bits(len(s.def))
	offsets := mem.As[uint32](a.d.starts.take(4 * (len(s.def) + 1)))
	items, last := uint32(0), byte(0)
	if len(s.rep) != len(s.def) {
		return nil, nil, fmt.Errorf("%w: a list without repetition", parquet.ErrLevels)
	}
	count, nulls := 0, 0
	outer, least, there, item, own := byte(outerRep), byte(outerDef), byte(n.Def), byte(n.RepDef), byte(n.Rep)
	reps := s.rep[:len(s.def)]
	for i, d := range s.def {
		rep := reps[i]
		switch {
		case rep > own:
		case rep <= outer && d >= least:
			offsets[count] = items
			if d >= there {
				m.Or(count, 1)
			} else {
				nulls++
			}
			count++
		case rep == own && (d < item || last < item):
			if d >= item || d != last { // DuckDB writes the entry of a null array as often as an array has items
				return nil, nil, errGoesOn
			}
		}
		if rep <= own && d >= item {
			items++
		}
		last = d
	}
	v.Len, v.Nulls = count, nulls
	offsets[count] = items
	return m, offsets[:count+1], nil
}

// bits returns a bitmap of n bits, all 0, that the next call takes again.
func (a *assembly) bits(n int) parquet.Bitmap {
	m := parquet.Bitmap(mem.As[uint64](a.d.bits.take(8 * parquet.BitmapWords(n))))
	clear(m)
	return m
}

// keepShape copies the shape into memory of the block.
func keepShape(v *block.Vector, c *leafDecoder, bits parquet.Bitmap, offsets []uint32) {
	if v.Nulls > 0 {
		v.Valid = c.newBitmap(v.Len)
		copy(v.Valid, bits)
	}
	if v.Field.Kind != column.Struct {
		v.Offsets = mem.As[uint32](c.arena.Alloc(4 * len(offsets)))
		copy(v.Offsets, offsets)
	}
}

// agree reports an error if another leaf gives an ancestor other nulls or offsets.
func agree(v *block.Vector, w *block.Vector, bits parquet.Bitmap, offsets []uint32) error {
	if v.Len != w.Len || v.Nulls != w.Nulls || !slices.Equal(v.Offsets, offsets) {
		return errAgree
	}
	if v.Nulls > 0 {
		for i := range (v.Len + 63) / 64 {
			if v.Valid[i] != bits[i] {
				return errAgree
			}
		}
	}
	return nil
}
