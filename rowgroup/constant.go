package rowgroup

import (
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// constant is a partition column: one value for all rows, stored as a dictionary.
func (d *Decoder) constant(n *schema.Node, rows int) *block.Vector {
	if n.Partition.Null {
		return block.NewNull(n.Field, rows)
	}
	v := &block.Vector{Field: n.Field, Len: rows, CodeWidth: 1, Codes: d.arena.Alloc(rows)}
	clear(v.Codes)
	one := d.keep.Alloc(len(n.Partition.Data))
	copy(one, n.Partition.Data)
	v.Dict = &block.Vector{Field: n.Field, Len: 1}
	if n.Field.Kind == column.Binary {
		v.Dict.Views = []uint64{uint64(len(one))}
		v.Dict.Base = [][]byte{one}
	} else {
		v.Dict.Data = one
	}
	return v
}
