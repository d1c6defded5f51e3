package main

import (
	"context"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard/local"
)

// ours decodes with rowgroup. Memory is kept from round to round, as a stream keeps it from unit to
// unit.
type ours struct {
	set         string
	columns     []string
	materialize bool
	pool        rowgroup.Pool
}

func newOurs(set string, columns []string, materialize bool) *ours {
	return &ours{set: set, columns: columns, materialize: materialize, pool: rowgroup.Pool{Keep: 256 << 20}}
}

func (o *ours) pass(ctx context.Context) (rows, bytes int64, err error) {
	store := &local.Store{}
	shards, err := store.List(ctx, o.set)
	if err != nil {
		return 0, 0, err
	}
	m, err := rowgroup.Open(ctx, store, shards, rowgroup.Options{Columns: o.columns, Pool: &o.pool})
	if err != nil {
		return 0, 0, err
	}
	defer m.Close()
	d := m.NewDecoder()
	defer d.Close()
	d.Materialize = o.materialize
	for _, g := range m.Groups() {
		raw, err := m.Fetch(ctx, rowgroup.Rows{Shard: int(g.Shard), RowGroup: int(g.RowGroup), Hi: g.Rows})
		if err != nil {
			return 0, 0, err
		}
		blocks, err := d.Decode(raw, rowgroup.Layout{})
		raw.Release()
		if err != nil {
			return 0, 0, err
		}
		rows += int64(blocks[0].Rows())
		bytes += g.Bytes
		blocks[0].Release()
	}
	return rows, bytes, nil
}
