package rowgroup

import "github.com/shardfeed/shardfeed/column"

// WholeBytes predicts what [Decoder.Decode] cannot divide of the narrow columns of group g:
// dictionaries, and columns whose rows cannot change places.
func (m *Manifest) WholeBytes(g int) int64 {
	r, group := m.groupRecord(g)
	e := estimator{r: &r, group: group}
	rows, whole := m.groups[g].Rows, int64(0)
	for _, n := range m.columnsOf(int(m.groups[g].Shard)) {
		whole = addCapped(whole, e.whole(n, rows))
	}
	return addCapped(whole, e.smallBytes(whole))
}

// whole is what cannot be divided of a column. Lists are taken to have no null items, as for
// DecodedBytes.
func (e *estimator) whole(n *node, rows int64) int64 {
	switch {
	case n.partition != nil:
		return e.alloc(int64(len(n.partition.data)))
	case n.missing:
		return 0
	case n.leaf != nil:
		return e.dictionary(n)
	case n.field.Kind == column.Struct:
		size := int64(0)
		for _, c := range n.children {
			if c.field.Kind == column.List || c.field.Kind == column.Map {
				size = addCapped(size, e.node(c, rows))
			} else {
				size = addCapped(size, e.whole(c, rows))
			}
		}
		return size
	case isListOfLeaves(n) && n.children[0].field.Kind == column.Fixed:
		return 0
	}
	return e.node(n, rows)
}

// dictionary is what a leaf keeps of its dictionary when its values are codes.
func (e *estimator) dictionary(n *node) int64 {
	k := e.r.chunk(n.leaf.index, e.group)
	switch {
	case n.leaf.convert == convertNull || !e.r.coded(k):
		return 0
	case n.field.Kind == column.Binary:
		return e.codes(k, 0)
	case n.field.Kind == column.Fixed:
		return e.table(k, int64(n.field.Width))
	}
	return 0
}
