package rowgroup

import (
	"context"
	"errors"

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/shard"
)

const (
	sampledColumns = 100     // of a shard at most
	headerGuess    = 4 << 10 // bytes that hold most page headers
)

// A sample is the first data page of a column without an offset index, in a shard's first row group
// with rows.
type sample struct {
	shard, group int
	column       *Column
	off, n       int64 // of the chunk's data pages
}

// samples lists those of a shard.
func (t *tally) samples(shard int, r *record, schema *fileSchema) (all []sample) {
	group := 0
	for group < r.groups && r.rows.at(group) == 0 {
		group++
	}
	if group == r.groups || t.finish().PageIndex == ShareAll {
		return nil
	}
	leaves := schemaLeaves(schema.columns)
	keys := columnKeys(leaves)
	for i, n := range leaves[:min(len(leaves), sampledColumns)] {
		k := r.chunk(n.leaf.index, group)
		c := &t.Columns[t.places[keys[i]]]
		if lo, hi := r.pages(k); lo < hi || r.compressed.at(k) == 0 || c.PageBytes > 0 {
			continue
		}
		all = append(all, sample{shard: shard, group: group, column: c, off: r.start.at(k) + r.dict.at(k), n: r.compressed.at(k) - r.dict.at(k)})
	}
	return all
}

// samplePages gives each sample's column the size of its page, so many at a time.
func samplePages(ctx context.Context, store shard.Store, shards []shard.Shard, samples []sample, parallel int) error {
	open := newObjects(store, shards)
	err := each(ctx, len(samples), parallel, func(ctx context.Context, i int) error {
		s := &samples[i]
		o, err := open.acquire(ctx, s.shard)
		if err == nil {
			defer open.release(s.shard, o)
			s.column.PageBytes, err = firstPage(ctx, o.object, s.off, s.n)
		}
		if err != nil {
			return &Error{Op: "inspect", URI: shards[s.shard].URI, RowGroup: s.group, Column: s.column.Path, Page: -1, Err: err}
		}
		return nil
	})
	return errors.Join(err, open.close())
}

// firstPage is the bytes of a page body by the header at off; 0 when the header does not fit the
// guess.
func firstPage(ctx context.Context, o shard.Object, off, n int64) (int64, error) {
	b := make([]byte, min(n, headerGuess))
	if err := o.ReadAt(ctx, b, off); err != nil {
		return 0, err
	}
	var h parquet.PageHeader
	_ = parquet.ParsePageHeader(b, &h) // the sizes stand before the statistics, which may not fit the guess
	return max(0, min(int64(h.Stored), n)), nil
}
