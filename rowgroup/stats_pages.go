package rowgroup

import (
	"context"
	"slices"

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
)

// pageStats is the statistics of a leaf's pages, which start at these rows.
type pageStats struct {
	first []int64
	stats []rule.ColumnStats
}

// Pages is the row ranges of row group g within which no rule column's page ends, in order and
// without gaps, with what the column indexes say of them; nil where the file has none.
func (s *ShardStats) Pages(ctx context.Context, g int) ([]RowRange, error) {
	all, rows := make([]pageStats, len(s.rules)), s.record.Rows.At(g)
	edges := []int64{0}
	for i := range s.rules {
		n := s.rules[i].statLeaf()
		if n == nil || n.Leaf.Convert == schema.ConvertNull {
			continue
		}
		p, err := s.pages(ctx, g, n)
		if err != nil {
			return nil, &Error{Op: "statistics", URI: s.m.shards[s.shard].URI, RowGroup: g, Column: n.Leaf.Path, Page: -1, Err: err}
		}
		all[i] = p
		edges = append(edges, p.first...)
	}
	slices.Sort(edges)
	edges = append(slices.Compact(edges), rows)
	if len(edges) < 3 {
		return nil, nil
	}
	group := s.group(g)
	ranges := make([]RowRange, len(edges)-1)
	for r := range ranges {
		lo, hi := edges[r], edges[r+1]
		of := make(columnStats, len(group))
		for i := range of {
			of[i] = all[i].within(lo, &group[i])
		}
		ranges[r] = RowRange{Lo: lo, Hi: hi, Stats: s.numbered(of, g, lo, hi)}
	}
	return ranges, nil
}

// within returns the statistics of rows from lo on that are in one page.
func (p *pageStats) within(lo int64, group *rule.ColumnStats) rule.ColumnStats {
	k := *group // of nulls only none and all say something, which is true of parts too
	if len(p.first) == 0 {
		return k
	}
	at, found := slices.BinarySearch(p.first, lo)
	if !found {
		at--
	}
	page := p.stats[at]
	if page.NullsKnown {
		k.Rows, k.Nulls, k.NullsKnown = page.Rows, page.Nulls, true
	}
	if page.Min != nil {
		k.Min, k.Max = page.Min, page.Max
	}
	return k
}

// pages reads the column index of a leaf. It returns no pages without an index, or with an
// inconsistent one.
func (s *ShardStats) pages(ctx context.Context, g int, n *schema.Node) (p pageStats, err error) {
	place := s.details.Group(g).Chunks[n.Leaf.Index].ColumnIndex
	lo, hi := s.record.Pages(s.record.Chunk(n.Leaf.Index, g))
	size := s.m.shards[s.shard].Size
	if lo == hi || place.Bytes <= 0 || place.Bytes > maxDeepBytes || place.Off < parquet.MagicBytes || place.Off > size-place.Bytes {
		return p, nil
	}
	b, err := s.read(ctx, shard.Span{Off: place.Off, N: place.Bytes})
	if err != nil {
		return p, err
	}
	pages, err := parquet.ParseColumnIndex(b, hi-lo)
	if err != nil {
		return p, nil // no row is lost without it
	}
	for i, page := range pages {
		p.first = append(p.first, s.record.PageRow.At(lo+i))
		var k rule.ColumnStats
		switch {
		case page.AllNull:
			k = allNulls
		case page.Nulls == 0:
			k.Rows, k.NullsKnown = 1, true
		}
		if !page.AllNull && s.ordered(n) {
			k.Min, k.Max = s.bounds(n, page.Min, page.Max)
		}
		p.stats = append(p.stats, k)
	}
	return p, nil
}
