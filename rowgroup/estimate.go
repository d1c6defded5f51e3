package rowgroup

import (
	"math"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

// wideBytes is the size of a row from which a column is wide; see Layout.
const wideBytes = 512

// wideWaste is the part of wide values that is lost to the ends of chunks and to the pool's sizes.
const wideWaste = 8

// DecodedBytes predicts the memory of the block that group g becomes with the projection, rather
// too high than too low: apart for columns of under 512 bytes a row, and for the wide ones, which a
// Layout can spread over parts.
func (m *Manifest) DecodedBytes(g int) (narrow, wide int64) {
	narrow, wide, _ = m.estimate(g)
	return narrow, wide
}

// ValueBytes predicts the same without what an arena takes beside the values themselves, which is
// most of it where rows are few, and with the values in place of codes of a byte: what as many rows
// of the kind add to a large batch.
func (m *Manifest) ValueBytes(g int) int64 {
	_, _, values := m.estimate(g)
	return values
}

func (m *Manifest) estimate(g int) (narrow, wide, values int64) {
	r, group := m.groupRecord(g)
	e := estimator{r: &r, group: group}
	rows := m.groups[g].Rows
	for _, n := range m.columnsOf(int(m.groups[g].Shard)) {
		a, b := e.column(n, rows)
		narrow, wide = addCapped(narrow, a), addCapped(wide, b)
	}
	return addCapped(narrow, e.smallBytes(addCapped(narrow, wide))), wide, addCapped(e.values, wide)
}

type estimator struct {
	r     *record
	group int
	small int64 // bytes of allocations that share buffers

	values int64 // bytes of all allocations, without what they take beside
}

// alloc is what an arena takes for n bytes. Small allocations are counted apart.
func (e *estimator) alloc(n int64) int64 {
	const slack = 128 // behind each allocation
	e.values = addCapped(e.values, n)
	if n+slack <= mem.ClassBytes(0) {
		e.small += n + slack
		return 0
	}
	return mem.ClassBytes(min(n, math.MaxInt64/2) + slack)
}

// smallBytes is what an arena takes for the small allocations: buffers that grow with it, up to
// four of the smallest, each a quarter of which may stay empty, and the last nearly all.
func (e *estimator) smallBytes(large int64) int64 {
	if e.small == 0 {
		return 0
	}
	least := mem.ClassBytes(0)
	return e.small + e.small/3 + min(max(least, addCapped(large, 2*e.small)), 4*least)
}

// column is the bytes of a column, apart for what a Layout can spread over parts: byte strings and
// lists of fixed width that stand in every row at most once and are large.
func (e *estimator) column(n *node, rows int64) (narrow, wide int64) {
	if n.field.Kind == column.Struct && n.leaf == nil && !n.missing && n.partition == nil {
		if n.field.Nullable {
			narrow = e.alloc(rows / 8)
		}
		for _, c := range n.children {
			if c.field.Kind == column.List {
				narrow = addCapped(narrow, e.node(c, rows))
				continue
			}
			a, b := e.column(c, rows)
			narrow, wide = addCapped(narrow, a), addCapped(wide, b)
		}
		return narrow, wide
	}
	if size := e.spread(n); rows > 0 && size >= mulDiv(rows, wideBytes, 1) && size <= wideMost {
		if n.field.Nullable {
			narrow = e.alloc(rows / 8)
		}
		return addCapped(narrow, e.alloc(mulDiv(rows, 8, 1))), addCapped(size, size/wideWaste)
	}
	return e.node(n, rows), 0
}

// spread is the bytes of a column's values when the decoder can spread them, as far as the footer
// tells, else 0; see column.chooseParts.
func (e *estimator) spread(n *node) int64 {
	if n.field.Kind == column.List {
		if !isListOfLeaves(n) || n.children[0].field.Kind != column.Fixed {
			return 0
		}
		return mulDiv(e.items(n), int64(n.children[0].field.Width), 1)
	}
	if n.field.Kind != column.Binary || !isPlainLeaf(n) {
		return 0
	}
	k := e.r.chunk(n.leaf.index, e.group)
	if e.r.coded(k) && (e.r.binary.at(k) == 0 || e.r.binary.at(k) > mulDiv(e.r.uncompressed.at(k), 5, 4)) {
		return 0
	}
	return e.r.binaryBytes(k)
}

// node is the bytes of a node with so many values: validity, what its kind needs, and its children.
func (e *estimator) node(n *node, values int64) int64 {
	size := int64(0)
	if n.field.Nullable {
		size = e.alloc(values / 8)
	}
	if n.leaf != nil && n.leaf.convert != convertNull {
		return addCapped(size, e.leaf(n, values))
	}
	if n.leaf != nil || n.missing || n.partition != nil {
		return addCapped(size, e.alloc(values)) // codes of one value, or nothing
	}
	switch n.field.Kind {
	case column.List, column.Map:
		size = addCapped(size, e.alloc(mulDiv(values+1, 8, 1)))
		values = e.items(n)
	}
	for _, c := range n.children {
		size = addCapped(size, e.node(c, values))
	}
	return size
}

// items is a bound of the items of a list: the values of a leaf below it, empty and null lists
// among them.
func (e *estimator) items(n *node) int64 {
	for n.leaf == nil {
		i := slices.IndexFunc(n.children, func(c *node) bool { return !c.missing })
		if i < 0 {
			return 0
		}
		n = n.children[i]
	}
	return e.r.values.at(e.r.chunk(n.leaf.index, e.group))
}

// leaf is the bytes of a leaf's values, as codes and a dictionary where the decoder keeps those.
func (e *estimator) leaf(n *node, values int64) int64 {
	k := e.r.chunk(n.leaf.index, e.group)
	switch n.field.Kind {
	case column.Fixed:
		width := int64(n.field.Width)
		if code := e.codeBytes(n, k); code > 0 {
			before := e.values
			size := addCapped(e.alloc(values*code), e.table(k, width))
			e.values = addCapped(before, mulDiv(values, width, 1))
			return size
		}
		return e.alloc(mulDiv(values, width, 1))
	case column.Binary:
		if e.r.coded(k) {
			return e.codes(k, values)
		}
		return addCapped(e.alloc(mulDiv(values, 8, 1)), e.alloc(e.r.binaryBytes(k)))
	}
	return 0
}

// codes is the bytes of codes and their dictionary of byte strings. Its values and its codes share
// the chunk's bytes, which bounds both.
func (e *estimator) codes(k int, values int64) int64 {
	size := e.r.uncompressed.at(k)
	entries := min(values, size/4)
	width := int64(codeWidth(int(min(entries, math.MaxInt32))))
	return addCapped(e.alloc(mulDiv(values, width, 1)), addCapped(e.alloc(size), e.alloc(mulDiv(entries, 8, 1))))
}

// codeBytes is the bytes of the codes that the decoder keeps in place of Fixed values, 0 where it
// may keep the values. Some dictionaries may have more entries than a code of one byte can tell
// apart, but not so many that the decoder gives up codes; see smallTable.
func (e *estimator) codeBytes(n *node, k int) int64 {
	width, dict := int64(n.field.Width), e.r.dict.at(k)
	if n.leaf.maxRep > 0 || width < 2 || dict == 0 || dict > mulDiv(width, smallTable, 1) || !e.r.coded(k) {
		return 0
	}
	return int64(codeWidth(int(e.r.entries(k, width))))
}

// table is the bytes of a dictionary of Fixed values that is kept with its codes.
func (e *estimator) table(k int, width int64) int64 {
	return e.alloc(mulDiv(max(e.r.entries(k, width), 1<<8), width, 1))
}

// entries bounds the entries of a dictionary of Fixed values by its bytes: each differs from the
// others, and the codecs spend at least so much on that, which real dictionaries come close to.
func (r *record) entries(k int, width int64) int64 {
	least := int64(1)
	switch r.codec(k) {
	case format.Uncompressed:
		least = width
	case format.Snappy, format.Lz4, format.Lz4Raw:
		least = min(width, 3)
	}
	return min(r.dict.at(k)/least, r.uncompressed.at(k)/width)
}

// coded says whether every data page of a chunk is dictionary-encoded, as far as the footer tells.
func (r *record) coded(chunk int) bool {
	set := r.encodingSet.at(chunk)
	const levels = 1<<format.RLE | 1<<format.BitPacked
	return set&(1<<parquet.AllCoded) != 0 || set&^levels == 1<<parquet.PlainDictionary
}

// prefixGrowth is how much longer than their pages values in DELTA_BYTE_ARRAY are taken to be where
// the file does not say.
const prefixGrowth = 4

// binaryBytes bounds the bytes of a chunk's variable-length values. Only where prefixes are shared
// can they be more than the pages'.
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
