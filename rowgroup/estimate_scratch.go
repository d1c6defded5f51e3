package rowgroup

import (
	"bytes"
	"math"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// pageGuess is the bytes of the largest page of a chunk without a page index. Writers aim at 1 MiB.
const pageGuess = 8 << 20

// A Scratch is the memory that a decoder holds beside the block that it makes.
type Scratch struct {
	Pages  int64 // bytes of the page that is decoded: decompressed values, levels and a dictionary
	Levels int64 // more of all rows: where their lists begin, and what of a page grows with the rows that are decoded
	Column int64 // bytes of the column that is decoded, until its rows are in their order or their parts
	Few    int64 // Column where fewer than half of the rows are kept
	Aside  int64 // Made.Drop of all rows, until their lists are made

	// A slice is decoded with the pages across its edges. Edge is the most that these pages hold of
	// one column. Edges is the part that stays in the block: dictionaries, and the columns whose
	// rows cannot move.
	Edge, Edges int64
}

// Of returns the scratch of a slice of a group. moved means that its rows are reordered.
func (s Scratch) Of(rows, all int64, moved bool) int64 {
	part, column, growing := int64(0), int64(0), mem.Add(s.Levels, s.Aside)
	switch part = growing; {
	case rows < all:
		part, column = mem.MulDiv(growing, rows, all), min(s.Column, mem.Add(mem.MulDiv(s.Column, rows, all), s.Edge))
	case moved:
		column = s.Column
	}
	return mem.Add(s.Pages, mem.Add(part, column))
}

// OfKept is the scratch of a slice of a group of which some rows are kept, laid in an order.
func (s Scratch) OfKept(kept, rows, all int64) int64 {
	if 2*kept < rows {
		s.Column, s.Aside = s.Few, mem.MulDiv(s.Aside, kept, max(1, rows))
	}
	return s.Of(rows, all, true)
}

// Scratch predicts what a decoder of group g takes beside the block, from the numbers of rows and
// values. Few bytes of a file can make long pages.
func (m *Manifest) Scratch(g int) Scratch {
	r, group := m.groupRecord(g)
	rows := m.groups[g].Rows
	var s Scratch
	whole := int64(0)
	aside := estimator{r: &r, group: group}
	for i, n := range m.columnsOf(int(m.groups[g].Shard)) {
		if m.made.drops(i) {
			aside.column(n, rows)
		}
		e, pageRows := estimator{r: &r, group: group}, int64(0)
		s.Pages = max(s.Pages, e.pageScratch(n, n, rows, true, &pageRows))
		whole = max(whole, e.pageScratch(n, n, rows, false, new(int64)))
		size := int64(0)
		if isMovable(n) {
			e.column(n, rows)
			size = scratchBytes(e.narrow)
			s.Column = max(s.Column, size)
		}
		few := fewScratch(&r, group, rows, n)
		s.Few = max(s.Few, few)
		if rows > 0 {
			edge := mem.MulDiv(max(size, few), min(rows, 2*pageRows), rows)
			s.Edge = max(s.Edge, edge)
			if isMovable(n) {
				edge = e.dictionaries(n)
			}
			s.Edges = mem.Add(s.Edges, edge)
		}
	}
	s.Levels = max(0, whole-s.Pages)
	narrow, wide := aside.decoded()
	s.Aside = mem.Add(narrow, wide)
	return s
}

// isMovable reports whether the decoder can lay the rows of a node in another order, but where
// lists have null items; see movable for vectors.
func isMovable(n *schema.Node) bool {
	switch {
	case n.Missing || n.Partition != nil || n.Numbers != nil || n.Leaf != nil:
		return true
	case n.Field.Kind == column.Struct:
		for _, c := range n.Children {
			if !isMovable(c) {
				return false
			}
		}
		return true
	}
	return isListOfLeaves(n) && n.Children[0].Field.Kind == column.Fixed
}

// pageScratch bounds the memory of a node's leaf beside its values. top is the column around it.
// pageRows becomes the rows of the largest page. least is for a slice of few rows, which decodes
// windows of large pages.
func (e *estimator) pageScratch(n, top *schema.Node, rows int64, least bool, pageRows *int64) int64 {
	if n.Missing || n.Partition != nil {
		return 0
	}
	if n.Leaf == nil {
		most := int64(0)
		for _, c := range n.Children {
			most = max(most, e.pageScratch(c, top, rows, least, pageRows))
		}
		return most
	}
	k := e.r.Chunk(n.Leaf.Index, e.group)
	p, values, decoded := largestPage(e.r, k, rows), e.r.Values.At(k), rows
	if least {
		p = e.windowed(n, k, p)
		decoded = min(rows, 2*p.rows)
		values = mem.MulDiv(values, decoded, max(1, rows))
	}
	*pageRows = max(*pageRows, p.rows)
	size := mem.Add(e.bodyScratch(n, k, p), e.valueScratch(n, k, p))
	switch {
	case n == top:
		return size
	case isListOfLeaves(top): // where lists begin, and the levels of a page
		return mem.Add(size, mem.Add(scratchBytes(mem.MulDiv(decoded, 4, 1)), 2*scratchBytes(p.values)))
	default: // the same of a whole leaf
		starts := mem.Add(scratchBytes(mem.MulDiv(values, 4, 1)), scratchBytes(values/8))
		return mem.Add(size, mem.Add(starts, 2*scratchBytes(values)))
	}
}

// windowed returns the part of a page that a slice of few rows decodes. The bytes stay the same,
// since the page is decompressed whole.
func (e *estimator) windowed(n *schema.Node, k int, p pageSize) pageSize {
	const levels = 1<<format.RLE | 1<<parquet.AllCoded
	set := e.r.EncodingSet.At(k) &^ (1<<format.Plain | 1<<parquet.PlainDictionary | 1<<format.RLEDictionary | levels)
	if n.Leaf.MaxDef == 0 {
		set &^= 1 << format.BitPacked // of levels that it lacks
	}
	if set == 0 && p.values > largePage {
		p.rows, p.values = mem.MulDiv(p.rows, largePage, p.values)+1, largePage
	}
	return p
}

// bodyScratch is a page as it is decompressed, unless it is decompressed to where its values stay.
func (e *estimator) bodyScratch(n *schema.Node, k int, p pageSize) int64 {
	const plain = 1<<format.Plain | 1<<format.RLE | 1<<format.BitPacked
	set, stored := e.r.EncodingSet.At(k)&^(1<<parquet.AllCoded), n.Leaf.StoredWidth()
	kept := n.Field.Kind == column.Fixed && n.Leaf.Convert == schema.ConvertNone && n.Leaf.Type != format.Boolean && stored > 0 && set&^plain == 0 ||
		n.Field.Kind == column.Binary && stored == 0 && set&^(plain|1<<format.DeltaLengthByteArray) == 0
	size := int64(0)
	if e.r.Codec(k) != format.Uncompressed && !kept {
		size = scratchBytes(p.bytes)
	}
	if e.spread(n) > 0 {
		size = mem.Add(size, scratchBytes(p.bytes))
	}
	return size
}

// valueScratch is the values of a page before they are converted, lengths, and a dictionary that is
// looked up.
func (e *estimator) valueScratch(n *schema.Node, k int, p pageSize) int64 {
	size, stored := int64(0), int64(n.Leaf.StoredWidth())
	if n.Field.Kind == column.Fixed && n.Leaf.Convert != schema.ConvertNone {
		size = mem.Add(size, scratchBytes(mem.MulDiv(p.values, max(8, stored), 1)))
	}
	if e.r.Uses(k, format.DeltaByteArray) || e.r.Uses(k, format.DeltaLengthByteArray) {
		size = mem.Add(size, scratchBytes(mem.MulDiv(p.values, 8, 1)))
	}
	if table := e.dictBytes(k); table > 0 {
		size = mem.Add(size, scratchBytes(table))
	}
	return size
}

// dictBytes bounds the dictionary of a chunk, and is 0 without one.
func (e *estimator) dictBytes(k int) int64 {
	if !e.r.Uses(k, format.RLEDictionary) && !e.r.Uses(k, parquet.PlainDictionary) {
		return 0
	}
	size := int64(pageGuess)
	if dict := e.r.Dict.At(k); dict > 0 {
		size = mem.MulDiv(dict, 8, 1)
	}
	return min(size, e.r.Uncompressed.At(k))
}

// dictionaries bounds the dictionaries that stay with the codes of a column.
func (e *estimator) dictionaries(n *schema.Node) (size int64) {
	if n.Leaf != nil && !n.Missing {
		return e.dictBytes(e.r.Chunk(n.Leaf.Index, e.group))
	}
	for _, c := range n.Children {
		size = mem.Add(size, e.dictionaries(c))
	}
	return size
}

// scratchBytes returns the bytes that scratch allocates for n; see scratch.take.
func scratchBytes(n int64) int64 {
	const slack = 128
	return mem.ClassBytes(min(mem.Add(n, n/8), math.MaxInt64/4) + slack)
}

// pageSize is how large a page is, decompressed.
type pageSize struct {
	bytes, values, rows int64
}

// largestPage bounds a chunk's pages: by the page index, else by what writers do.
func largestPage(r *footer.Record, k int, rows int64) pageSize {
	p := pageSize{bytes: r.Uncompressed.At(k), values: r.Values.At(k), rows: rows}
	if p.bytes <= 0 || rows <= 0 {
		return p
	}
	whole := p
	part := func(of, all int64) pageSize {
		of = min(of, all)
		return pageSize{bytes: mem.MulDiv(whole.bytes, of, all), values: mem.MulDiv(whole.values, of, all) + 1, rows: mem.MulDiv(rows, of, all) + 1}
	}
	lo, hi := r.Pages(k)
	if lo == hi {
		if whole.bytes > pageGuess && !bytes.HasPrefix(r.CreatedBy, []byte("fastparquet")) { // whose chunks are one page
			return part(pageGuess, whole.bytes)
		}
		return whole
	}
	stored, all, most := int64(0), int64(0), int64(0)
	for i := lo; i < hi; i++ {
		end := rows
		if i+1 < hi {
			end = r.PageRow.At(i + 1)
		}
		most = max(most, end-r.PageRow.At(i))
		stored, all = max(stored, r.PageSize.At(i)), all+r.PageSize.At(i)
	}
	p = part(most, rows)
	if q := part(stored, max(1, all)); q.bytes > p.bytes { // pages are taken to compress alike
		p.bytes, p.values = q.bytes, max(p.values, q.values)
	}
	return p
}
