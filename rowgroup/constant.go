package rowgroup

import (
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
)

// constant is a partition column: one value for all rows, stored as a dictionary.
func (d *Decoder) constant(n *node, rows int) *block.Vector {
	if n.partition.null {
		return block.NewNull(n.field, rows)
	}
	v := &block.Vector{Field: n.field, Len: rows, CodeWidth: 1, Codes: d.arena.Alloc(rows)}
	clear(v.Codes)
	one := d.keep.Alloc(len(n.partition.data))
	copy(one, n.partition.data)
	v.Dict = &block.Vector{Field: n.field, Len: 1}
	if n.field.Kind == column.Binary {
		v.Dict.Views = []uint64{uint64(len(one))}
		v.Dict.Base = [][]byte{one}
	} else {
		v.Dict.Data = one
	}
	return v
}
