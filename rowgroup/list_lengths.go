package rowgroup

import (
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// lengthsLeaf returns the one leaf below a list that is read only for its lengths, or nil if its
// items hold further lists.
func lengthsLeaf(n *schema.Node) *schema.Node {
	for n.Leaf == nil {
		if len(n.Children) != 1 {
			return nil
		}
		n = n.Children[0]
	}
	if n.Leaf.MaxRep != 1 {
		return nil
	}
	return n
}

// lengthsOf decodes only the starts of the lists of a column, and no items.
func (d *Decoder) lengthsOf(n, leaf *schema.Node) (*block.Vector, error) {
	s := &d.lists
	*s = listShape{node: n}
	c, skip, total, err := d.listRows(leaf, s)
	if err != nil {
		return nil, err
	}
	s.starts = append(s.starts, uint32(c.slots))
	v := &block.Vector{Field: n.Field, Len: total, Skip: skip, Nulls: s.nulls}
	if s.nulls > 0 {
		v.Valid = s.valid
	}
	if err := checkListSize(v, s.starts); err != nil {
		return nil, err
	}
	v.Offsets = mem.As[uint32](c.arena.Alloc(4 * (total + 1)))
	copy(v.Offsets, s.starts)
	v.Children = []*block.Vector{block.NewNull(n.Field.Children[0], int(v.Offsets[total]))}
	return v, nil
}
