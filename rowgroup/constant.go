package rowgroup

import (
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// constant is a partition column: one value for all rows, stored as a dictionary.
func (d *Decoder) constant(n *schema.Node, rows int) *block.Vector {
	if n.Partition.Null {
		return block.NewNull(n.Field, rows)
	}
	return block.NewConstant(n.Field, n.Partition.Data, rows, d.arena, d.keep)
}

// numbers is a column of row numbers, with the IDs that the file has.
func (d *Decoder) numbers(n *schema.Node, rows int) (*block.Vector, error) {
	first := d.raw.first + d.rows.Lo
	if n.Numbers.IDs {
		first = d.raw.before + d.rows.Lo + n.Numbers.First
	}
	v := block.NewNull(n.Field, rows)
	if n.Leaf != nil {
		var err error
		if v, err = d.flat(n); err != nil {
			return nil, err
		}
		first -= int64(v.Skip)
	}
	switch {
	case n.Numbers.First < 0 || v.Len > 0 && v.Nulls == 0:
		return v, nil
	case v.Codes != nil && v.Nulls < v.Len:
		v = d.lookedUp(v)
	}
	return v.Numbered(uint64(first), d.arena), nil
}
