package rowgroup

import (
	"math"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// wideBytes is the size of a row from which a column is wide; see Layout.
const wideBytes = 512

// wideWaste is the part of wide values that is lost to the ends of chunks and to the pool's sizes.
const wideWaste = 8

// DecodedBytes predicts the memory of the block that group g becomes with the projection, rather
// too high than too low: apart for columns of under 512 bytes a row, and for the wide ones, which a
// Layout can spread over parts.
func (m *Manifest) DecodedBytes(g int) (narrow, wide int64) {
	e := m.estimate(g, m.columnsOf(int(m.groups[g].Shard)))
	return e.decoded()
}

// TotalBytes adds up DecodedBytes of all groups; and values, which leaves out what an arena takes
// beside the values, most of it where rows are few, and counts values in place of codes of a byte:
// what as many rows add to a large batch. It reads each record once.
func (m *Manifest) TotalBytes() (decoded, values int64) {
	for s := range m.files {
		r, err := footer.ParseRecord(m.files[s].record)
		if err != nil {
			continue // Open has parsed it
		}
		columns := m.columnsOf(s)
		for g := m.first[s]; g < m.first[s+1]; g++ {
			e := estimateGroup(&r, g-m.first[s], columns, m.groups[g].Rows)
			large := mem.Add(e.narrow, e.wide)
			decoded = mem.Add(decoded, mem.Add(large, e.smallBytes(large)))
			values = mem.Add(values, mem.Add(e.values, e.wide))
		}
	}
	return decoded, values
}

// Items predicts how many items the lists of a column of group g have, nulls and empty lists among
// them. The column is a list of single values.
func (m *Manifest) Items(g, column int) int64 {
	r, group := m.groupRecord(g)
	e := estimator{r: &r, group: group}
	n := m.columnsOf(int(m.groups[g].Shard))[column]
	if n.Missing || n.Leaf != nil {
		return 0
	}
	return e.items(n)
}

// FileBytes predicts the bytes of the byte strings of a column of group g, or of a member of
// structs that path leads to. It errs on the low side, and is 0 if the footer does not record them.
func (m *Manifest) FileBytes(g, column int, path []int) int64 {
	r, group := m.groupRecord(g)
	e := estimator{r: &r, group: group}
	n := m.columnsOf(int(m.groups[g].Shard))[column]
	for _, member := range path {
		if n.Missing || member >= len(n.Children) {
			return 0
		}
		n = n.Children[member]
	}
	if n.Missing {
		return 0
	}
	return e.spread(n)
}

// WholeBytes predicts what [Decoder.Decode] cannot divide of the narrow columns of group g:
// dictionaries, and columns whose rows cannot change places. It leaves out Made.Drop.
func (m *Manifest) WholeBytes(g int) int64 {
	r, group := m.groupRecord(g)
	e := estimator{r: &r, group: group}
	for _, n := range m.staying(g) {
		e.whole(n, m.groups[g].Rows)
	}
	return mem.Add(e.narrow, e.smallBytes(e.narrow))
}

// estimate is without the estimator, so that the record, which is large, stays off the heap.
func (m *Manifest) estimate(g int, columns []*schema.Node) estimated {
	r, group := m.groupRecord(g)
	return estimateGroup(&r, group, columns, m.groups[g].Rows)
}

// decoded returns the narrow and the wide bytes of a block.
func (e *estimated) decoded() (narrow, wide int64) {
	return mem.Add(e.narrow, e.smallBytes(mem.Add(e.narrow, e.wide))), e.wide
}

func estimateGroup(r *footer.Record, group int, columns []*schema.Node, rows int64) estimated {
	e := estimator{r: r, group: group}
	for _, n := range columns {
		e.column(n, rows)
	}
	return e.estimated
}

// An estimator adds up bytes.
type estimator struct {
	r     *footer.Record
	group int

	estimated

	// Of few rows that are kept; see share.
	few        bool
	kept, rows int64
	allText    bool // all text and items may be theirs
}

// estimated is the bytes that an estimator has added up.
type estimated struct {
	narrow, wide int64
	small        int64 // of allocations that share buffers, and are not among narrow
	values       int64 // of all allocations but wide, without what they take beside
}

// alloc adds what an arena takes for n bytes.
func (e *estimator) alloc(n int64) {
	const slack = 128 // behind each allocation
	e.values = mem.Add(e.values, n)
	if n = min(n, math.MaxInt64/2) + slack; n <= mem.ClassBytes(0) {
		e.small += n
	} else {
		e.narrow = mem.Add(e.narrow, mem.ClassBytes(n))
	}
}

// smallBytes estimates an arena's memory for small allocations: buffers that grow with it, up to
// four of the smallest, each a quarter of which may stay empty, and the last nearly all.
func (e *estimated) smallBytes(large int64) int64 {
	if e.small == 0 {
		return 0
	}
	least := mem.ClassBytes(0)
	return e.small + e.small/3 + min(max(least, mem.Add(large, 2*e.small)), 4*least)
}

// column adds a column, except for the part that a Layout can spread over parts: byte strings and
// lists of fixed width that occur at most once per row and are large.
func (e *estimator) column(n *schema.Node, rows int64) {
	isStruct := n.Field.Kind == column.Struct && n.Leaf == nil && !n.Missing && n.Partition == nil
	size, isWide := e.wideSize(n, rows)
	if !isStruct && !isWide {
		e.node(n, rows)
		return
	}
	if n.Field.Nullable {
		e.alloc(rows / 8)
	}
	if isWide {
		e.alloc(mem.MulDiv(rows, 8, 1))
		e.wide = mem.Add(e.wide, size+size/wideWaste)
		return
	}
	for _, c := range n.Children {
		if c.Field.Kind == column.List {
			e.node(c, rows)
		} else {
			e.column(c, rows)
		}
	}
}

// wideSize is the bytes of a column's values that the decoder spreads over parts.
func (e *estimator) wideSize(n *schema.Node, rows int64) (size int64, ok bool) {
	size = e.spread(n)
	return size, rows > 0 && size >= mem.MulDiv(rows, wideBytes, 1) && size <= wideMost
}

// spread returns the bytes of a column's values if the decoder can spread them, as far as the
// footer shows, or 0; see column.chooseParts.
func (e *estimator) spread(n *schema.Node) int64 {
	if n.Field.Kind == column.List {
		if !isListOfLeaves(n) || n.Children[0].Field.Kind != column.Fixed {
			return 0
		}
		return mem.MulDiv(e.items(n), int64(n.Children[0].Field.Width), 1)
	}
	if n.Field.Kind != column.Binary || !isPlainLeaf(n) {
		return 0
	}
	k := e.r.Chunk(n.Leaf.Index, e.group)
	if e.r.Coded(k) && (e.r.Binary.At(k) == 0 || e.r.Binary.At(k) > mem.MulDiv(e.r.Uncompressed.At(k), 5, 4)) {
		return 0
	}
	return e.share(e.r.BinaryBytes(k))
}

// node adds a node with the given number of values: validity, the memory of its kind, and its
// children.
func (e *estimator) node(n *schema.Node, values int64) {
	if n.Field.Nullable {
		e.alloc(values / 8)
	}
	if n.Numbers != nil {
		e.alloc(mem.MulDiv(values, 8, 1))
	}
	switch {
	case n.Leaf != nil && n.Leaf.Convert != schema.ConvertNull:
		e.leaf(n, values)
		return
	case n.Numbers != nil:
		return
	case n.Leaf != nil || n.Missing || n.Partition != nil:
		e.alloc(values) // codes of one value, or nothing
		return
	case n.Field.Kind == column.List || n.Field.Kind == column.Map:
		e.alloc(mem.MulDiv(values+1, 8, 1))
		values = e.items(n)
	}
	for _, c := range n.Children {
		e.node(c, values)
	}
}

// items is a bound of the items of a list: the values of a leaf below it, empty and null lists
// among them.
func (e *estimator) items(n *schema.Node) int64 {
	for n.Leaf == nil {
		i := slices.IndexFunc(n.Children, func(c *schema.Node) bool { return !c.Absent() })
		if i < 0 {
			return 0
		}
		n = n.Children[i]
	}
	return e.share(e.r.Values.At(e.r.Chunk(n.Leaf.Index, e.group)))
}

// leaf adds a leaf's values, as codes and a dictionary where the decoder keeps those.
func (e *estimator) leaf(n *schema.Node, values int64) {
	k := e.r.Chunk(n.Leaf.Index, e.group)
	width := int64(n.Field.Width)
	switch {
	case n.Field.Kind == column.Fixed:
		before, code := e.values, e.codeBytes(n, k)
		if code == 0 || e.few && mem.MulDiv(values, width-code, 1) <= mem.MulDiv(e.r.Entries(k, width), width, 1) {
			e.alloc(mem.MulDiv(values, width, 1))
			return
		}
		e.alloc(values * code)
		e.table(k, width)
		e.values = mem.Add(before, mem.MulDiv(values, width, 1))
	case n.Field.Kind == column.Binary:
		before := e.values
		if e.r.Coded(k) {
			e.codes(k, values)
		} else {
			e.alloc(mem.MulDiv(values, 8, 1))
			e.alloc(e.share(e.r.BinaryBytes(k)))
		}
		if n := e.r.Binary.At(k); n > 0 { // values that a dictionary repeats are more than the chunk
			e.values = max(e.values, mem.Add(before, mem.Add(mem.MulDiv(values, 4, 1), e.share(n))))
		}
	}
}

// codes adds codes and their dictionary of byte strings. Its values and its codes share the chunk's
// bytes, which bounds both.
func (e *estimator) codes(k int, values int64) {
	size := e.r.Uncompressed.At(k)
	entries := min(values, size/4)
	e.alloc(mem.MulDiv(values, int64(codeWidth(int(min(entries, math.MaxInt32)))), 1))
	e.alloc(size)
	e.alloc(mem.MulDiv(entries, 8, 1))
}

// codeBytes returns the bytes of the codes that the decoder keeps in place of Fixed values, or 0 if
// it may keep the values. Some dictionaries may have more entries than a code of one byte can
// distinguish, but not enough for the decoder to expand the codes; see smallTable.
func (e *estimator) codeBytes(n *schema.Node, k int) int64 {
	width, dict := int64(n.Field.Width), e.r.Dict.At(k)
	if n.Leaf.MaxRep > 0 || width < 2 || dict == 0 || dict > mem.MulDiv(width, smallTable, 1) || !e.r.Coded(k) {
		return 0
	}
	return int64(codeWidth(int(e.r.Entries(k, width))))
}

// table adds a dictionary of Fixed values that is kept with its codes.
func (e *estimator) table(k int, width int64) {
	e.alloc(mem.MulDiv(max(e.r.Entries(k, width), 1<<8), width, 1))
}

// whole adds what cannot be divided of a column. Lists are taken to have no null items, as for
// DecodedBytes.
func (e *estimator) whole(n *schema.Node, rows int64) {
	switch {
	case n.Partition != nil:
		e.alloc(int64(len(n.Partition.Data)))
	case n.Missing, n.Numbers != nil:
	case n.Leaf != nil:
		e.dictionary(n)
	case n.Field.Kind == column.Struct:
		for _, c := range n.Children {
			if c.Field.Kind == column.List || c.Field.Kind == column.Map {
				e.node(c, rows)
			} else {
				e.whole(c, rows)
			}
		}
	case isListOfLeaves(n) && n.Children[0].Field.Kind == column.Fixed:
	default:
		e.node(n, rows)
	}
}

// dictionary adds what a leaf keeps of its dictionary when its values are codes.
func (e *estimator) dictionary(n *schema.Node) {
	k := e.r.Chunk(n.Leaf.Index, e.group)
	switch {
	case n.Leaf.Convert == schema.ConvertNull || !e.r.Coded(k):
	case n.Field.Kind == column.Binary:
		e.codes(k, 0)
	case n.Field.Kind == column.Fixed:
		e.table(k, int64(n.Field.Width))
	}
}
