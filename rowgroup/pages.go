package rowgroup

import (
	"context"
	"errors"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

// PageEdges is the first rows of the data pages of the widest column of group g, the first of
// equally wide ones; all columns of the file count, projected or not. It is nil when the file has
// no page index for that column.
func (m *Manifest) PageEdges(g int) []int64 {
	r, lo, hi := m.widestPages(g)
	if lo == hi {
		return nil
	}
	edges := make([]int64, 0, hi-lo)
	for i := lo; i < hi; i++ {
		edges = append(edges, r.PageRow.At(i))
	}
	return edges
}

// HasPages reports whether group g has PageEdges.
func (m *Manifest) HasPages(g int) bool {
	_, lo, hi := m.widestPages(g)
	return lo < hi
}

// widestPages returns the run of pages of the widest column in the columns per page of a record.
func (m *Manifest) widestPages(g int) (r footer.Record, lo, hi int) {
	r, group := m.groupRecord(g)
	if r.Leaves == 0 {
		return r, 0, 0
	}
	widest := r.Chunk(0, group)
	for l := range r.Leaves {
		if k := r.Chunk(l, group); r.Uncompressed.At(k) > r.Uncompressed.At(widest) {
			widest = k
		}
	}
	lo, hi = r.Pages(widest)
	return r, lo, hi
}

// SlicedBytes predicts the bytes to decompress when the slices of group g between these edges
// (ascending, without 0 and the end) are decoded one by one, all columns of the file: pages across
// an edge count once per slice, dictionaries once per slice with pages that need them, and the
// whole chunk of a column without a page index once per slice. Without edges it is the size of the
// row group.
func (m *Manifest) SlicedBytes(g int, edges []int64) int64 {
	r, group := m.groupRecord(g)
	total := int64(0)
	for l := range r.Leaves {
		k := r.Chunk(l, group)
		total = mem.Add(total, r.SlicedChunk(k, edges))
	}
	return total
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
		k := r.Chunk(n.Leaf.Index, group)
		size := float64(r.Uncompressed.At(k))
		all += size
		part += size * r.PageShare(k, lo, hi, rows)
	}
	if all == 0 {
		return hi - lo
	}
	return int64(part / all * float64(rows))
}

// groupRecord finds the record of a group's shard, and the group's number in it. Records were
// parsed once by Open, so they do parse.
func (m *Manifest) groupRecord(g int) (footer.Record, int) {
	group := &m.groups[g]
	r, err := m.record(int(group.Shard))
	if err != nil {
		return footer.Record{}, 0
	}
	return r, int(group.RowGroup)
}

// headerGuess is bytes that hold most page headers.
const headerGuess = 4 << 10

// A PageAt is where a page is: its first byte in a shard, and the bytes that it has at most.
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
	err := footer.Each(ctx, len(pages), o.Parallel, func(ctx context.Context, i int) error {
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
	_ = parquet.ParsePageHeader(b, &h) // the sizes are before the statistics, which may not fit the guess
	return max(0, min(int64(h.Stored), n)), nil
}
