package main

import (
	"context"
	"math/rand/v2"

	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
)

const (
	numberRows     = 256  // of a request
	numberRequests = 2000 // of a pass
)

// numbers returns random rows by number, from units that are decoded already.
type numbers struct {
	set     string
	columns []string
	rows    *loader.Map
	random  *rand.Rand
}

func newNumbers(set string, columns []string) *numbers {
	return &numbers{set: set, columns: columns, random: rand.New(rand.NewPCG(1, 2))}
}

// open decodes all units.
func (n *numbers) open(ctx context.Context) error {
	ds, err := iterable.Open(ctx, shard.Stores{"": local.Store{}}, []string{n.set}, iterable.Options{Reading: iterable.Reading{Columns: n.columns}})
	if err != nil {
		return err
	}
	if n.rows, err = loader.NewMap(ds, loader.MapOptions{BatchSize: numberRows}); err != nil {
		return err
	}
	for list := range loader.Batched(loader.Sequential{N: n.rows.Len()}.Rows(0), 1000, false) {
		if err := n.take(ctx, list[:1]); err != nil {
			return err
		}
	}
	return nil
}

func (n *numbers) take(ctx context.Context, rows []int64) error {
	b, err := n.rows.Batch(ctx, rows)
	if err != nil {
		return err
	}
	b.Release()
	return nil
}

func (n *numbers) pass(ctx context.Context) (rows, bytes int64, err error) {
	list := make([]int64, numberRows)
	for range numberRequests {
		for i := range list {
			list[i] = n.random.Int64N(n.rows.Len())
		}
		if err := n.take(ctx, list); err != nil {
			return 0, 0, err
		}
		rows += numberRows
	}
	return rows, 0, nil
}
