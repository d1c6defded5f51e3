package rowgroup

import "github.com/parquet-go/parquet-go/format"

// wideBytes is the size of a row from which a column is wide; see Layout.
const wideBytes = 512

// DecodedBytes predicts the memory that group g takes when it is decoded with the projection, rather too high than too low: apart for
// columns of under 512 bytes a row, and for the wide ones, which a Layout can spread over parts. Rounding by the pool comes on top.
func (m *Manifest) DecodedBytes(g int) (narrow, wide int64) {
	r, group := m.groupRecord(g)
	e := estimator{r: &r, group: group}
	rows := m.groups[g].Rows
	for _, n := range m.columnsOf(int(m.groups[g].Shard)) {
		size := e.node(n, rows)
		if size >= mulDiv(rows, wideBytes, 1) && rows > 0 {
			wide = addCapped(wide, size)
		} else {
			narrow = addCapped(narrow, size)
		}
	}
	return narrow, wide
}

type estimator struct {
	r     *record
	group int
}

// node is the bytes of a node with so many values: validity, what its kind needs, and its children.
func (e *estimator) node(n *node, values int64) int64 {
	size := values/8 + 8
	if n.leaf != nil && n.leaf.convert != convertNull {
		return addCapped(size, e.leaf(n, values))
	}
	if n.leaf != nil || n.missing || n.partition != nil {
		return addCapped(size, nullBytes(n.field, values))
	}
	switch n.field.Kind {
	case List, Map:
		size = addCapped(size, mulDiv(values+1, 8, 1))
		values = e.items(n)
	}
	for _, c := range n.children {
		size = addCapped(size, e.node(c, values))
	}
	return size
}

// items is a bound of the items of a list: the values of a leaf below it, empty and null lists among them.
func (e *estimator) items(n *node) int64 {
	for n.leaf == nil {
		if len(n.children) == 0 {
			return 0
		}
		n = firstPresent(n.children)
	}
	return e.r.values.at(e.r.chunk(n.leaf.index, e.group))
}

func firstPresent(nodes []*node) *node {
	for _, n := range nodes {
		if !n.missing {
			return n
		}
	}
	return nodes[0]
}

func (e *estimator) leaf(n *node, values int64) int64 {
	k := e.r.chunk(n.leaf.index, e.group)
	switch n.field.Kind {
	case Fixed:
		return addCapped(mulDiv(values, int64(n.field.Width), 1), mulDiv(e.r.dict.at(k), 4, 1))
	case Binary:
		return addCapped(mulDiv(values, 8, 1), e.r.binaryBytes(k))
	}
	return 0
}

// prefixGrowth is how much longer than their pages values in DELTA_BYTE_ARRAY are taken to be where the file does not say.
const prefixGrowth = 4

// binaryBytes bounds the bytes of a chunk's variable-length values. Only where prefixes are shared can they be more than the pages'.
func (r *record) binaryBytes(chunk int) int64 {
	size := r.uncompressed.at(chunk)
	switch {
	case !r.uses(chunk, format.DeltaByteArray):
		return size
	case r.binary.at(chunk) > 0:
		return max(size, r.binary.at(chunk))
	}
	return mulDiv(size, prefixGrowth, 1)
}

// nullBytes is the storage of so many nulls, or of one value repeated.
func nullBytes(f *Field, values int64) int64 {
	switch f.Kind {
	case Fixed:
		return mulDiv(values, int64(f.Width), 1)
	case Null, Struct:
		return 0
	}
	return mulDiv(values, 8, 1)
}
