package rowgroup

import (
	"context"
	"errors"

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/shard"
)

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
