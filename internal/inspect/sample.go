package inspect

import (
	"context"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
)

const sampledColumns = 100 // of a shard at most

// A sample is the first data page of a column without an offset index, in a shard's first row group
// with rows.
type sample struct {
	column *Column
	page   rowgroup.PageAt
}

func (t *tally) samples(shard int, f *rowgroup.Footer) (all []sample) {
	group := 0
	for group < f.Groups() && rowsOf(f, group) == 0 {
		group++
	}
	if group == f.Groups() || t.finish().PageIndex == ShareAll {
		return nil
	}
	keys := columnKeys(f.Leaves)
	for i, l := range f.Leaves[:min(len(f.Leaves), sampledColumns)] {
		k := f.Chunk(l, group)
		c := &t.Columns[t.places[keys[i]]]
		if len(k.Pages) > 0 || k.Compressed == 0 || c.PageBytes > 0 {
			continue
		}
		all = append(all, sample{c, rowgroup.PageAt{Shard: shard, RowGroup: group, Column: c.Path, Off: k.Data, N: k.DataBytes}})
	}
	return all
}

func rowsOf(f *rowgroup.Footer, group int) int64 {
	rows, _ := f.Group(group)
	return rows
}

// measure gives each sample's column the size of its page.
func measure(ctx context.Context, store shard.Store, shards []shard.Shard, samples []sample, o rowgroup.Options) error {
	pages := make([]rowgroup.PageAt, len(samples))
	for i, s := range samples {
		pages[i] = s.page
	}
	sizes, err := rowgroup.PageSizes(ctx, store, shards, pages, o)
	for i, s := range samples {
		s.column.PageBytes = sizes[i]
	}
	return err
}
