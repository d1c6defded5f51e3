package estimate

import (
	"math"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// Limits by which the decoder chooses how it keeps values.
const (
	// WideBytes is the size of a row from which a column is wide.
	WideBytes = 512

	// WideMost is the bytes of a wide column whose chunks, each of 64 KiB at least, 32-bit places
	// can distinguish.
	WideMost = 3 << 28

	// SmallTable is the entries, times their bytes, of a dictionary whose codes take two bytes and
	// are kept where rows are laid in an order. A dictionary page that is taken for one of 256
	// entries has no more, however well it is compressed.
	SmallTable = 64

	// LargePage is the values of a page from which it is decoded in part: more than writers put
	// into a page, and so few that a whole page takes little memory.
	LargePage = 1 << 20
)

// wideWaste is the part of wide values that is lost to the ends of chunks and to the pool's sizes.
const wideWaste = 8

// An Estimator adds up bytes.
type Estimator struct {
	r     *footer.Record
	group int

	Bytes

	// Of few rows that are kept; see share.
	few        bool
	kept, rows int64
	AllText    bool // all text and items may be theirs
}

// New returns the estimator of all rows of a group of a shard.
func New(r *footer.Record, group int) Estimator { return Estimator{r: r, group: group} }

// NewKept returns the estimator of some of the rows of a group that has rows of them.
func NewKept(r *footer.Record, group int, kept, rows int64) Estimator {
	return Estimator{r: r, group: group, kept: kept, rows: rows, few: true}
}

// Bytes are the sums of an Estimator.
type Bytes struct {
	Narrow, Wide int64
	Small        int64 // of allocations that share buffers, and are not among Narrow
	Values       int64 // of all allocations but Wide, without what they take beside
}

// Block returns the narrow and the wide bytes of a block.
func (e *Bytes) Block() (narrow, wide int64) {
	return mem.Add(e.Narrow, e.smallBytes(mem.Add(e.Narrow, e.Wide))), e.Wide
}

// Total returns the bytes of a block.
func (e *Bytes) Total() int64 {
	large := mem.Add(e.Narrow, e.Wide)
	return mem.Add(large, e.smallBytes(large))
}

// Undivided returns the bytes of a block of the narrow columns.
func (e *Bytes) Undivided() int64 { return mem.Add(e.Narrow, e.smallBytes(e.Narrow)) }

// Filled returns the narrow bytes without what the buffers of a block leave empty.
func (e *Bytes) Filled() int64 { return mem.Add(e.Narrow, e.Small) }

// Alloc adds what an arena takes for n bytes.
func (e *Estimator) Alloc(n int64) {
	const slack = 128 // behind each allocation
	e.Values = mem.Add(e.Values, n)
	if n = min(n, math.MaxInt64/2) + slack; n <= mem.ClassBytes(0) {
		e.Small += n
	} else {
		e.Narrow = mem.Add(e.Narrow, mem.ClassBytes(n))
	}
}

// smallBytes estimates an arena's memory for small allocations: buffers that grow with it, up to
// four of the smallest, each a quarter of which may stay empty, and the last nearly all.
func (e *Bytes) smallBytes(large int64) int64 {
	if e.Small == 0 {
		return 0
	}
	least := mem.ClassBytes(0)
	return e.Small + e.Small/3 + min(max(least, mem.Add(large, 2*e.Small)), 4*least)
}

// Column adds a column, except for the part that a Layout can spread over parts: byte strings and
// lists of fixed width that occur at most once per row and are large.
func (e *Estimator) Column(n *schema.Node, rows int64) {
	isStruct := n.Field.Kind == column.Struct && n.Leaf == nil && !n.Missing && n.Partition == nil
	size, isWide := e.wideSize(n, rows)
	if !isStruct && !isWide {
		e.Node(n, rows)
		return
	}
	if n.Field.Nullable {
		e.Alloc(rows / 8)
	}
	if isWide {
		e.Alloc(mem.MulDiv(rows, 8, 1))
		e.Wide = mem.Add(e.Wide, size+size/wideWaste)
		return
	}
	for _, c := range n.Children {
		if c.Field.Kind == column.List {
			e.Node(c, rows)
		} else {
			e.Column(c, rows)
		}
	}
}

// wideSize is the bytes of a column's values that the decoder spreads over parts.
func (e *Estimator) wideSize(n *schema.Node, rows int64) (size int64, ok bool) {
	size = e.Spread(n)
	return size, rows > 0 && size >= mem.MulDiv(rows, WideBytes, 1) && size <= WideMost
}

// Spread returns the bytes of a column's values if the decoder can spread them, as far as the
// footer shows, or 0; see column.chooseParts.
func (e *Estimator) Spread(n *schema.Node) int64 {
	if n.Field.Kind == column.List {
		if !n.IsListOfLeaves() || n.Children[0].Field.Kind != column.Fixed {
			return 0
		}
		return mem.MulDiv(e.Items(n), int64(n.Children[0].Field.Width), 1)
	}
	if n.Field.Kind != column.Binary || !n.IsPlainLeaf() {
		return 0
	}
	k := e.r.Chunk(n.Leaf.Index, e.group)
	if e.r.Coded(k) && (e.r.Binary.At(k) == 0 || e.r.Binary.At(k) > mem.MulDiv(e.r.Uncompressed.At(k), 5, 4)) {
		return 0
	}
	return e.share(e.r.BinaryBytes(k))
}

// Node adds a node with the given number of values: validity, the memory of its kind, and its
// children.
func (e *Estimator) Node(n *schema.Node, values int64) {
	if n.Field.Nullable {
		e.Alloc(values / 8)
	}
	if n.Numbers != nil {
		e.Alloc(mem.MulDiv(values, 8, 1))
	}
	switch {
	case n.Leaf != nil && n.Leaf.Convert != schema.ConvertNull:
		e.leaf(n, values)
		return
	case n.Numbers != nil:
		return
	case n.Leaf != nil || n.Missing || n.Partition != nil:
		e.Alloc(values) // codes of one value, or nothing
		return
	case n.Field.Kind == column.List || n.Field.Kind == column.Map:
		e.Alloc(mem.MulDiv(values+1, 8, 1))
		values = e.Items(n)
	}
	for _, c := range n.Children {
		e.Node(c, values)
	}
}

// Items is a bound of the items of a list: the values of a leaf below it, empty and null lists
// among them.
func (e *Estimator) Items(n *schema.Node) int64 {
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
func (e *Estimator) leaf(n *schema.Node, values int64) {
	k := e.r.Chunk(n.Leaf.Index, e.group)
	width := int64(n.Field.Width)
	switch {
	case n.Field.Kind == column.Fixed:
		before, code := e.Values, e.codeBytes(n, k)
		if code == 0 || e.few && mem.MulDiv(values, width-code, 1) <= mem.MulDiv(e.r.Entries(k, width), width, 1) {
			e.Alloc(mem.MulDiv(values, width, 1))
			return
		}
		e.Alloc(values * code)
		e.table(k, width)
		e.Values = mem.Add(before, mem.MulDiv(values, width, 1))
	case n.Field.Kind == column.Binary:
		before := e.Values
		if e.r.Coded(k) {
			e.codes(k, values)
		} else {
			e.Alloc(mem.MulDiv(values, 8, 1))
			e.Alloc(e.share(e.r.BinaryBytes(k)))
		}
		if n := e.r.Binary.At(k); n > 0 { // values that a dictionary repeats are more than the chunk
			e.Values = max(e.Values, mem.Add(before, mem.Add(mem.MulDiv(values, 4, 1), e.share(n))))
		}
	}
}

// codes adds codes and their dictionary of byte strings. Its values and its codes share the chunk's
// bytes, which bounds both.
func (e *Estimator) codes(k int, values int64) {
	size := e.r.Uncompressed.At(k)
	entries := min(values, size/4)
	e.Alloc(mem.MulDiv(values, int64(block.CodeWidth(int(min(entries, math.MaxInt32)))), 1))
	e.Alloc(size)
	e.Alloc(mem.MulDiv(entries, 8, 1))
}

// codeBytes returns the bytes of the codes that the decoder keeps in place of Fixed values, or 0 if
// it may keep the values. Some dictionaries may have more entries than a code of one byte can
// distinguish, but not enough for the decoder to expand the codes; see SmallTable.
func (e *Estimator) codeBytes(n *schema.Node, k int) int64 {
	width, dict := int64(n.Field.Width), e.r.Dict.At(k)
	if n.Leaf.MaxRep > 0 || width < 2 || dict == 0 || dict > mem.MulDiv(width, SmallTable, 1) || !e.r.Coded(k) {
		return 0
	}
	return int64(block.CodeWidth(int(e.r.Entries(k, width))))
}

// table adds a dictionary of Fixed values that is kept with its codes.
func (e *Estimator) table(k int, width int64) {
	e.Alloc(mem.MulDiv(max(e.r.Entries(k, width), 1<<8), width, 1))
}

// Whole adds what cannot be divided of a column. Lists are taken to have no null items, as for
// DecodedBytes.
func (e *Estimator) Whole(n *schema.Node, rows int64) {
	switch {
	case n.Partition != nil:
		e.Alloc(int64(len(n.Partition.Data)))
	case n.Missing, n.Numbers != nil:
	case n.Leaf != nil:
		e.dictionary(n)
	case n.Field.Kind == column.Struct:
		for _, c := range n.Children {
			if c.Field.Kind == column.List || c.Field.Kind == column.Map {
				e.Node(c, rows)
			} else {
				e.Whole(c, rows)
			}
		}
	case n.IsListOfLeaves() && n.Children[0].Field.Kind == column.Fixed:
	default:
		e.Node(n, rows)
	}
}

// dictionary adds what a leaf keeps of its dictionary when its values are codes.
func (e *Estimator) dictionary(n *schema.Node) {
	k := e.r.Chunk(n.Leaf.Index, e.group)
	switch {
	case n.Leaf.Convert == schema.ConvertNull || !e.r.Coded(k):
	case n.Field.Kind == column.Binary:
		e.codes(k, 0)
	case n.Field.Kind == column.Fixed:
		e.table(k, int64(n.Field.Width))
	}
}

// share estimates the kept share of n values or of their bytes.
func (e *Estimator) share(n int64) int64 {
	const unevenPart = 8
	if !e.few || e.AllText {
		return n
	}
	part := mem.MulDiv(n, e.kept, e.rows)
	return min(n, part+part/unevenPart+1)
}

// Tables adds the dictionaries of a column.
func (e *Estimator) Tables(n *schema.Node) {
	switch {
	case n.Partition != nil:
		e.Alloc(int64(len(n.Partition.Data)))
	case n.Missing:
	case n.Leaf != nil:
		e.dictionary(n)
	default:
		for _, c := range n.Children {
			e.Tables(c)
		}
	}
}
