package main

import (
	"context"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// takeRows reads rows by their numbers in the data set, which ascend, and hands them on in that
// order, many at once. It reads only their pages where the file says where pages lie, else their
// column chunks. What do gets is valid until it returns.
func takeRows(ctx context.Context, ds *iterable.Dataset, shape *loader.Shape, rows []int64, do func(columns []*column.Array, n int) error) error {
	return takeRowsOf(ctx, ds.Manifest(), shape, rows, do)
}

// takeRowsOf is takeRows of a manifest.
func takeRowsOf(ctx context.Context, m *rowgroup.Manifest, shape *loader.Shape, rows []int64, do func(columns []*column.Array, n int) error) error {
	t := rowTaker{manifest: m, shape: shape, do: do}
	t.arena = t.pool.NewArena()
	t.decoder = t.manifest.NewDecoder()
	defer func() {
		t.decoder.Close()
		t.arena.Free()
		t.pool.Trim(0)
	}()
	first := int64(0)
	for g, group := range t.manifest.Groups() {
		n, _ := slices.BinarySearch(rows, first+group.Rows)
		if err := t.group(ctx, g, group, first, rows[:n]); err != nil {
			return err
		}
		rows, first = rows[n:], first+group.Rows
	}
	return nil
}

// A rowTaker reads rows by their numbers.
type rowTaker struct {
	manifest *rowgroup.Manifest
	shape    *loader.Shape
	do       func(columns []*column.Array, n int) error

	decoder  *rowgroup.Decoder
	gatherer rowgroup.Gatherer
	pool     mem.Pool
	arena    *mem.Arena
}

// group reads rows of group g, whose first row is number first. Rows of one page are read together.
func (t *rowTaker) group(ctx context.Context, g int, group rowgroup.Group, first int64, rows []int64) error {
	edges := t.manifest.PageEdges(g)
	for len(rows) > 0 {
		n := len(rows)
		if len(edges) > 0 {
			next, _ := slices.BinarySearch(edges, rows[0]-first+1)
			if next < len(edges) {
				n, _ = slices.BinarySearch(rows, first+edges[next])
			}
		}
		span := rowgroup.Rows{Shard: int(group.Shard), RowGroup: int(group.RowGroup), Lo: rows[0] - first, Hi: rows[n-1] - first + 1}
		if err := t.span(ctx, span, first, rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// span decodes a run of rows and hands on the wanted ones.
func (t *rowTaker) span(ctx context.Context, span rowgroup.Rows, first int64, rows []int64) error {
	raw, err := t.manifest.Fetch(ctx, span)
	if err != nil {
		return err
	}
	var blocks []*rowgroup.Block
	err = raw.Refetching(ctx, func() (err error) {
		blocks, err = t.decoder.Decode(raw, rowgroup.Layout{})
		return err
	})
	raw.Release()
	if err != nil {
		return err
	}
	defer blocks[0].Release()
	for some := range slices.Chunk(rows, maxGather) {
		picks := make([]rowgroup.Pick, len(some))
		for i, row := range some {
			picks[i] = rowgroup.MakePick(0, int(row-first-span.Lo))
		}
		if err := t.hand(blocks, picks); err != nil {
			return err
		}
	}
	return nil
}

func (t *rowTaker) hand(blocks []*rowgroup.Block, picks []rowgroup.Pick) error {
	defer t.arena.Free()
	columns := make([]*column.Array, len(t.shape.Schema().Fields))
	for c := range columns {
		var err error
		columns[c], err = t.shape.Gather(&t.gatherer, c, blocks, picks, func(n int) ([]byte, error) { return t.arena.Alloc(n), nil })
		if err != nil {
			return err
		}
	}
	return t.do(columns, len(picks))
}
