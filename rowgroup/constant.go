package rowgroup

import "github.com/shardfeed/shardfeed/column"

// newNullVector is n nulls of a field, without storage.
func newNullVector(f *column.Field, n int) *vector {
	v := &vector{field: f, n: n, nulls: n}
	if n == 0 && f.Kind == column.List || f.Kind == column.Map && n == 0 {
		v.offsets = []uint32{0}
	}
	for _, c := range f.Children {
		k := n
		if f.Kind != column.Struct {
			k = 0
		}
		v.children = append(v.children, newNullVector(c, k))
	}
	return v
}

// constant is a partition column: one value for all rows, stored as a dictionary.
func (d *Decoder) constant(n *node, rows int) *vector {
	if n.partition.null {
		return newNullVector(n.field, rows)
	}
	v := &vector{field: n.field, n: rows, codeWidth: 1, codes: d.arena.Alloc(rows)}
	clear(v.codes)
	one := d.keep.Alloc(len(n.partition.data))
	copy(one, n.partition.data)
	v.dict = &vector{field: n.field, n: 1}
	if n.field.Kind == column.Binary {
		v.dict.views = []uint64{uint64(len(one))}
		v.dict.base = [][]byte{one}
	} else {
		v.dict.data = one
	}
	return v
}
