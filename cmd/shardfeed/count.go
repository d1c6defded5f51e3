package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
)

func (a *app) countRows() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use:   "count [flags] ADDRESS...",
		Short: "Count the rows",
		Long: `count prints how many rows the shards have, or how many of them --where and the other flags of rows
choose. Without these it reads footers alone, or finds them in the index of an earlier run. With
them it reads the columns that the filter names, and only where the files' statistics leave it
open; these counts are kept beside the index too.`,
		Example: `  shardfeed count data/
  shardfeed count data/ --where 'price >= 10 and label is not null'
  shardfeed count 's3://bucket/table/dt=2026-01-*/*.parquet' --json`,
	}
	fs := c.Flags()
	f.object(fs)
	fs.StringVar(&f.missing, "missing", "error", "columns of a filter that some shards lack: error or null")
	f.choice(fs)
	f.remote(fs)
	return a.verb(c, func(ctx context.Context, addresses []string) error {
		if err := f.check(fs); err != nil {
			return err
		}
		find := a.total
		if f.choosesRows() {
			find = a.chosen
		}
		total, err := find(ctx, addresses, f)
		if err != nil {
			return err
		}
		if f.json {
			return writeJSON(a.stdout, total)
		}
		_, err = fmt.Fprintln(a.stdout, total.Rows)
		return err
	})
}

// A rowCount is what count finds.
type rowCount struct {
	Rows      int64 `json:"rows"`     // that are chosen
	AllRows   int64 `json:"all_rows"` // of the shards
	Shards    int   `json:"shards"`
	RowGroups int   `json:"row_groups"`
}

// total adds up the rows that footers state.
func (a *app) total(ctx context.Context, addresses []string, f *flags) (n rowCount, err error) {
	err = a.withShards(ctx, addresses, f, func(stores shard.Stores, shards []shard.Shard, o rowgroup.Options) error {
		footers, err := rowgroup.Footers(ctx, stores, shards, o)
		n.Shards = len(shards)
		for i := range footers {
			n.RowGroups += footers[i].Groups()
			for g := range footers[i].Groups() {
				rows, _ := footers[i].Group(g)
				n.Rows += rows
			}
		}
		n.AllRows = n.Rows
		return err
	})
	return n, err
}

// chosen counts the rows that the flags choose.
func (a *app) chosen(ctx context.Context, addresses []string, f *flags) (n rowCount, err error) {
	ds, err := a.open(ctx, addresses, f)
	if errors.Is(err, iterable.ErrNoRow) {
		n, err = a.total(ctx, addresses, f)
		n.Rows = 0
	}
	if err != nil || ds == nil {
		return n, err
	}
	m := ds.Manifest()
	n = rowCount{Rows: ds.NumSamples(), AllRows: ds.NumRows(), Shards: len(m.Shards()), RowGroups: len(m.Groups())}
	return n, errors.Join(err, ds.Close(ctx))
}
