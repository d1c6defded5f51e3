package estimate

import (
	"math"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// A Scratch is the memory that a decoder holds beside the block that it makes.
type Scratch struct {
	Pages  int64 // bytes of the page that is decoded: decompressed values, levels and a dictionary
	Levels int64 // more of all rows: where their lists start, and what of a page grows with the rows that are decoded
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

// ScratchOf predicts what a decoder of a group takes beside the block, from the numbers of rows and
// values. Few bytes of a file can make long pages. drops reports whether a column is Made.Drop.
func ScratchOf(r *footer.Record, group int, rows int64, columns []*schema.Node, drops func(col int) bool) (s Scratch) {
	whole := int64(0)
	aside := New(r, group)
	for i, n := range columns {
		if drops(i) {
			aside.Column(n, rows)
		}
		e, pageRows := New(r, group), int64(0)
		s.Pages = max(s.Pages, e.pageScratch(n, n, rows, true, &pageRows))
		whole = max(whole, e.pageScratch(n, n, rows, false, new(int64)))
		size := int64(0)
		if n.IsMovable() {
			e.Column(n, rows)
			size = scratchBytes(e.Narrow)
			s.Column = max(s.Column, size)
		}
		few := fewScratch(r, group, rows, n)
		s.Few = max(s.Few, few)
		if rows > 0 {
			edge := mem.MulDiv(max(size, few), min(rows, 2*pageRows), rows)
			s.Edge = max(s.Edge, edge)
			if n.IsMovable() {
				edge = e.dictionaries(n)
			}
			s.Edges = mem.Add(s.Edges, edge)
		}
	}
	s.Levels = max(0, whole-s.Pages)
	s.Aside = aside.Total()
	return s
}

// pageScratch bounds the memory of a node's leaf beside its values. top is the column around it.
// pageRows becomes the rows of the largest page. least is for a slice of few rows, which decodes
// windows of large pages.
func (e *Estimator) pageScratch(n, top *schema.Node, rows int64, least bool, pageRows *int64) int64 {
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
	case top.IsListOfLeaves(): // where lists start, and the levels of a page
		return mem.Add(size, mem.Add(scratchBytes(mem.MulDiv(decoded, 4, 1)), 2*scratchBytes(p.values)))
	default: // the same of a whole leaf
		starts := mem.Add(scratchBytes(mem.MulDiv(values, 4, 1)), scratchBytes(values/8))
		return mem.Add(size, mem.Add(starts, 2*scratchBytes(values)))
	}
}

// windowed returns the part of a page that a slice of few rows decodes. The bytes stay the same,
// since the page is decompressed whole.
func (e *Estimator) windowed(n *schema.Node, k int, p pageSize) pageSize {
	const levels = 1<<format.RLE | 1<<parquet.AllCoded
	set := e.r.EncodingSet.At(k) &^ (1<<format.Plain | 1<<parquet.PlainDictionary | 1<<format.RLEDictionary | levels)
	if n.Leaf.MaxDef == 0 {
		set &^= 1 << format.BitPacked // of levels that it lacks
	}
	if set == 0 && p.values > LargePage {
		p.rows, p.values = mem.MulDiv(p.rows, LargePage, p.values)+1, LargePage
	}
	return p
}

// bodyScratch is a page as it is decompressed, unless it is decompressed to where its values stay.
func (e *Estimator) bodyScratch(n *schema.Node, k int, p pageSize) int64 {
	const plain = 1<<format.Plain | 1<<format.RLE | 1<<format.BitPacked
	set, stored := e.r.EncodingSet.At(k)&^(1<<parquet.AllCoded), n.Leaf.StoredWidth()
	kept := n.Field.Kind == column.Fixed && n.Leaf.Convert == schema.ConvertNone && n.Leaf.Type != format.Boolean && stored > 0 && set&^plain == 0 ||
		n.Field.Kind == column.Binary && stored == 0 && set&^(plain|1<<format.DeltaLengthByteArray) == 0
	size := int64(0)
	if e.r.Codec(k) != format.Uncompressed && !kept {
		size = scratchBytes(p.bytes)
	}
	if e.Spread(n) > 0 {
		size = mem.Add(size, scratchBytes(p.bytes))
	}
	return size
}

// valueScratch is the values of a page before they are converted, lengths, and a dictionary that is
// looked up.
func (e *Estimator) valueScratch(n *schema.Node, k int, p pageSize) int64 {
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
func (e *Estimator) dictBytes(k int) int64 {
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
func (e *Estimator) dictionaries(n *schema.Node) (size int64) {
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

// fewScratch estimates the scratch of a column of a group until its few rows are copied: all its
// rows, and the items that are copied. Wide values are copied page by page.
func fewScratch(r *footer.Record, group int, rows int64, n *schema.Node) int64 {
	e := New(r, group)
	e.Column(n, rows)
	if _, isWide := e.wideSize(n, rows); !isWide {
		e.orders(n)
	}
	return mem.Add(scratchBytes(e.Narrow), e.smallBytes(e.Narrow))
}

// orders adds the places of the items of lists.
func (e *Estimator) orders(n *schema.Node) {
	if n.Leaf != nil || n.Missing || n.Partition != nil {
		return
	}
	if n.Field.Kind != column.Struct {
		e.Alloc(mem.MulDiv(e.Items(n), 4, 1))
	}
	for _, c := range n.Children {
		e.orders(c)
	}
}
