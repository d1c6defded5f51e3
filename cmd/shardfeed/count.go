package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
)

func (a *app) countRows() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use:   "count [flags] ADDRESS...",
		Short: "Count the rows",
		Long: `count prints how many rows the shards have. It reads their footers alone, or finds them in the index
of an earlier run.`,
		Example: `  shardfeed count data/
  shardfeed count 's3://bucket/table/dt=2026-01-*/*.parquet' --json`,
	}
	fs := c.Flags()
	f.object(fs)
	f.remote(fs)
	return a.verb(c, func(ctx context.Context, addresses []string) error {
		if err := f.check(fs); err != nil {
			return err
		}
		total, err := a.total(ctx, addresses, f)
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
	Rows      int64 `json:"rows"`
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
		return err
	})
	return n, err
}
