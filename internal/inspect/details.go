package inspect

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
)

// A KeyValue is an entry of the metadata that the writer of a shard has added.
type KeyValue struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// footersAtOnce is how many footers are read at once.
const footersAtOnce = 16

// details reads the parts of the footers that the index does not keep.
func details(ctx context.Context, store shard.Store, shards []shard.Shard) ([]*parquet.Details, error) {
	all := make([]*parquet.Details, len(shards))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(footersAtOnce)
	for i, s := range shards {
		g.Go(func() (err error) {
			if all[i], err = readDetails(ctx, store, s); err != nil {
				return &rowgroup.Error{Op: "footer", URI: s.URI, RowGroup: -1, Page: -1, Err: err}
			}
			return nil
		})
	}
	return all, g.Wait()
}

func readDetails(ctx context.Context, store shard.Store, s shard.Shard) (d *parquet.Details, err error) {
	if err := parquet.CheckSize(s.Size); err != nil {
		return nil, err
	}
	o, err := store.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	tail := make([]byte, parquet.TailBytes)
	if err := o.ReadAt(ctx, tail, s.Size-parquet.TailBytes); err != nil {
		return nil, err
	}
	n, err := parquet.FooterLength(tail, s.Size)
	if err != nil {
		return nil, err
	}
	b := make([]byte, n)
	if err := o.ReadAt(ctx, b, s.Size-parquet.TailBytes-n); err != nil {
		return nil, err
	}
	return parquet.ParseDetails(b)
}

// detail adds the details of the tally's one shard.
func (t *tally) detail(f *rowgroup.Footer, d *parquet.Details) error {
	keys := columnKeys(f.Leaves)
	if d.Groups() != f.Groups() {
		return fmt.Errorf("the shard has %d row groups, and had %d when its footer was read", d.Groups(), f.Groups())
	}
	for k := range d.Groups() {
		g := d.Group(k)
		if len(g.Chunks) != len(f.Leaves) {
			return fmt.Errorf("a row group has %d columns, the schema has %d", len(g.Chunks), len(f.Leaves))
		}
		for i := range g.Chunks {
			t.Columns[t.places[keys[i]]].span.addChunk(boundsOf(f.Leaves[i]), &g.Chunks[i])
		}
	}
	return nil
}

// rowsOfGroups are the rows of each row group.
func rowsOfGroups(f *rowgroup.Footer) []int64 {
	rows := make([]int64, f.Groups())
	for g := range rows {
		rows[g] = rowsOf(f, g)
	}
	return rows
}

// sortedBy are the columns that all row groups say they are sorted by, "id" or "id descending".
func sortedBy(f *rowgroup.Footer, d *parquet.Details) []string {
	names := []string{}
	for i := range d.Groups() {
		var own []string
		for _, s := range d.Group(i).Sorted {
			if s.Column < 0 || s.Column >= len(f.Leaves) {
				return []string{}
			}
			name := f.Leaves[s.Column].Path
			if s.Descending {
				name += " descending"
			}
			own = append(own, name)
		}
		if i == 0 {
			names = append(names, own...)
		}
		same := 0
		for same < min(len(names), len(own)) && names[same] == own[same] {
			same++
		}
		names = names[:same]
	}
	return names
}

func keyValues(d *parquet.Details) []KeyValue {
	all := make([]KeyValue, len(d.KeyValues))
	for i, e := range d.KeyValues {
		all[i] = KeyValue(e)
	}
	return all
}
