package rowgroup

import (
	"context"
	"errors"
	"math"
	"sort"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

// PageEdges is the first rows of the data pages of the widest column of group g, the first of
// equally wide ones; all columns of the file count, projected or not. It is nil when the file has
// no page index for that column.
func (m *Manifest) PageEdges(g int) []int64 {
	r, group := m.groupRecord(g)
	if r.leaves == 0 {
		return nil
	}
	widest := r.chunk(0, group)
	for l := range r.leaves {
		if k := r.chunk(l, group); r.uncompressed.at(k) > r.uncompressed.at(widest) {
			widest = k
		}
	}
	lo, hi := r.pages(widest)
	if lo == hi {
		return nil
	}
	edges := make([]int64, 0, hi-lo)
	for i := lo; i < hi; i++ {
		edges = append(edges, r.pageRow.at(i))
	}
	return edges
}

// SlicedBytes predicts the bytes to decompress when the slices of group g between these edges
// (ascending, without 0 and the end) are decoded one by one, all columns of the file: pages across
// an edge count once per slice, dictionaries once per slice with pages that need them, and the
// whole chunk of a column without a page index once per slice. Without edges it is the size of the
// row group.
func (m *Manifest) SlicedBytes(g int, edges []int64) int64 {
	r, group := m.groupRecord(g)
	total := int64(0)
	for l := range r.leaves {
		k := r.chunk(l, group)
		total = addCapped(total, r.slicedChunk(k, edges))
	}
	return total
}

// slicedChunk is SlicedBytes of one chunk. An offset index has compressed sizes, so pages are taken
// to compress alike.
func (r *record) slicedChunk(chunk int, edges []int64) int64 {
	size := r.uncompressed.at(chunk)
	lo, hi := r.pages(chunk)
	if lo == hi {
		return mem.MulDiv(size, int64(len(edges))+1, 1)
	}
	dict := r.pageOff.at(lo)
	once := dict
	for i := lo; i < hi; i++ {
		once += r.pageSize.at(i)
	}
	again, page, coded := int64(0), lo, r.codedPages(chunk)
	for _, e := range edges {
		for page < hi && r.pageRow.at(page) < e {
			page++
		}
		first := page // of the slice
		if page > lo && (page == hi || r.pageRow.at(page) != e) {
			first-- // the edge lies within it
			again += r.pageSize.at(first)
		}
		if first < coded {
			again += dict
		}
	}
	return mem.MulDiv(size, once+again, once)
}

// Heft is how many average rows of group g take as much as the rows [lo, hi): by the sizes of their
// pages, for all projected columns that have a page index. Pages are taken to compress alike.
func (m *Manifest) Heft(g int, lo, hi int64) int64 {
	r, group := m.groupRecord(g)
	rows := m.groups[g].Rows
	part, all := 0.0, 0.0
	for _, n := range schema.LeavesOf(m.columnsOf(int(m.groups[g].Shard))) {
		if n.Missing {
			continue
		}
		k := r.chunk(n.Leaf.Index, group)
		size := float64(r.uncompressed.at(k))
		all += size
		part += size * r.pageShare(k, lo, hi, rows)
	}
	if all == 0 {
		return hi - lo
	}
	return int64(part / all * float64(rows))
}

// pageShare is the part of a chunk's bytes that rows have, by its pages.
func (r *record) pageShare(chunk int, lo, hi, rows int64) float64 {
	first, end := r.pages(chunk)
	if first == end {
		return float64(hi-lo) / float64(rows)
	}
	pages := end - first
	from := max(0, sort.Search(pages, func(i int) bool { return r.pageRow.at(first+i) > lo })-1)
	part := 0.0
	for i := from; i < pages; i++ {
		begin, next := r.pageRow.at(first+i), rows
		if i+1 < pages {
			next = r.pageRow.at(first + i + 1)
		}
		if begin >= hi {
			break
		}
		if next > begin {
			part += float64(r.pageSize.at(first+i)) * float64(min(hi, next)-max(lo, begin)) / float64(next-begin)
		}
	}
	return part / float64(max(1, r.compressed.at(chunk)-r.pageOff.at(first))) // without the dictionary
}

// codedPages is the page before which all of a chunk's pages that need its dictionary are taken to
// lie: writers begin with such pages, and do not come back to them once they have given them up. It
// is the last one's end when the file does not tell.
func (r *record) codedPages(chunk int) int {
	lo, hi := r.pages(chunk)
	if n := r.codes.at(chunk); n > 0 && n-1 < int64(hi-lo) {
		return lo + int(n-1)
	}
	return hi
}

// groupRecord finds the record of a group's shard, and the group's number in it. Records were
// parsed once by Open, so they do parse.
func (m *Manifest) groupRecord(g int) (record, int) {
	group := &m.groups[g]
	r, err := m.record(int(group.Shard))
	if err != nil {
		return record{}, 0
	}
	return r, int(group.RowGroup)
}

func addCapped(a, b int64) int64 { return a + min(b, math.MaxInt64-a) }

// headerGuess is bytes that hold most page headers.
const headerGuess = 4 << 10

// A PageAt is where a page lies: its first byte in a shard, and the bytes that it has at most.
type PageAt struct {
	Shard, RowGroup int
	Column          string // for errors
	Off, N          int64
}

// PageSizes reads the headers of pages, and returns the bytes of their bodies as stored. A size is
// 0 when the header is longer than most. It uses Parallel of the options.
func PageSizes(ctx context.Context, store shard.Store, shards []shard.Shard, pages []PageAt, o Options) ([]int64, error) {
	o = o.withDefaults(store, shards)
	sizes := make([]int64, len(pages))
	open := newObjects(store, shards)
	err := each(ctx, len(pages), o.Parallel, func(ctx context.Context, i int) error {
		p := &pages[i]
		o, err := open.acquire(ctx, p.Shard)
		if err == nil {
			defer open.release(p.Shard, o)
			sizes[i], err = pageBodySize(ctx, o.object, p.Off, p.N)
		}
		if err != nil {
			return &Error{Op: "inspect", URI: shards[p.Shard].URI, RowGroup: p.RowGroup, Column: p.Column, Page: -1, Err: err}
		}
		return nil
	})
	return sizes, errors.Join(err, open.close())
}

// pageBodySize is the bytes of a page body by the header at off; 0 when the header does not fit the
// guess.
func pageBodySize(ctx context.Context, o shard.Object, off, n int64) (int64, error) {
	b := make([]byte, min(n, headerGuess))
	if err := o.ReadAt(ctx, b, off); err != nil {
		return 0, err
	}
	var h parquet.PageHeader
	_ = parquet.ParsePageHeader(b, &h) // the sizes stand before the statistics, which may not fit the guess
	return max(0, min(int64(h.Stored), n)), nil
}
