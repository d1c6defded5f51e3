package rowgroup

import (
	"context"

	"github.com/shardfeed/shardfeed/shard"
)

const (
	sampledColumns = 100     // of a shard at most
	headerGuess    = 4 << 10 // bytes that hold most page headers
)

// samplePages gives the columns without an offset index the size of their first data page in the first row group with rows.
func (t *tally) samplePages(ctx context.Context, store shard.Store, s shard.Shard, r *record, schema *fileSchema) error {
	group := 0
	for group < r.groups && r.rows.at(group) == 0 {
		group++
	}
	if group == r.groups || t.finish().PageIndex == ShareAll {
		return nil
	}
	o, err := store.Open(ctx, s)
	if err != nil {
		return &Error{Op: "inspect", URI: s.URI, RowGroup: -1, Page: -1, Err: err}
	}
	defer o.Close()
	leaves := schemaLeaves(schema.columns)
	keys := columnKeys(leaves)
	for i, n := range leaves[:min(len(leaves), sampledColumns)] {
		k := r.chunk(n.leaf.index, group)
		c := &t.Columns[t.places[keys[i]]]
		if lo, hi := r.pages(k); lo < hi || r.compressed.at(k) == 0 || c.PageBytes > 0 {
			continue
		}
		if c.PageBytes, err = firstPage(ctx, o, r.start.at(k)+r.dict.at(k), r.compressed.at(k)-r.dict.at(k)); err != nil {
			return &Error{Op: "inspect", URI: s.URI, RowGroup: group, Column: c.Path, Page: -1, Err: err}
		}
	}
	return nil
}

// firstPage is the bytes of a page body by the header at off; 0 when the header does not fit the guess.
func firstPage(ctx context.Context, o shard.Object, off, n int64) (int64, error) {
	b := make([]byte, min(n, headerGuess))
	if err := o.ReadAt(ctx, b, off); err != nil {
		return 0, err
	}
	size := int64(0)
	r := &thriftReader{b: b}
	readStruct(r, func(id int16, typ byte) {
		if id == 3 && typ == thriftI32 {
			size = r.int()
		} else {
			r.skip(typ)
		}
	})
	return max(0, min(size, n)), nil
}
