package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/printable"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
)

func (a *app) countRows() *cobra.Command {
	f := &flags{inFiles: true}
	c := &cobra.Command{
		Use:   "count [flags] ADDRESS...",
		Short: "Count the rows",
		Long: `count prints how many rows the shards have, or how many of them --where and the other flags of rows
choose. Without these it reads footers alone, or finds them in the index of an earlier run. With
them it reads the columns that the filter names, and only where the files' statistics leave it
open; these counts are kept beside the index too.

With --sources it prints the rows of each source, under its own rules, and of all together.`,
		Example: `  shardfeed count data/
  shardfeed count data/ --where 'price >= 10 and label is not null'
  shardfeed count 's3://bucket/table/dt=2026-01-*/*.parquet' --json
  shardfeed count --sources sources.json`,
	}
	fs := c.Flags()
	f.looks(fs)
	f.add(fs, "json", "what.reading", "rows", "sources.files", "storage", "cache")
	return a.verb(c, func(ctx context.Context, addresses []string) error {
		if err := f.check(ctx, fs); err != nil {
			return err
		}
		find := a.total
		switch {
		case len(f.Sources) > 0:
			find = a.ofSources
		case f.ChoosesRows():
			find = a.chosen
		}
		total, err := find(ctx, addresses, f)
		if err != nil {
			return err
		}
		if f.json {
			return term.WriteJSON(a.stdout, total)
		}
		return total.print(a.stdout)
	})
}

// A rowCount is the result of count.
type rowCount struct {
	Rows      int64 `json:"rows"`     // that are chosen
	AllRows   int64 `json:"all_rows"` // of the shards
	Shards    int   `json:"shards"`
	RowGroups int   `json:"row_groups"`

	Sources []sourceCount `json:"sources,omitempty"`
}

// A sourceCount is the result of count for one of several sources.
type sourceCount struct {
	Name    string `json:"name"`
	Rows    int64  `json:"rows"`
	AllRows int64  `json:"all_rows"`
}

// print prints the number, or a line for each source and one for all.
func (n rowCount) print(w io.Writer) error {
	if n.Sources == nil {
		_, err := fmt.Fprintln(w, n.Rows)
		return err
	}
	var table [][]string
	for _, s := range n.Sources {
		table = append(table, []string{printable.Text(s.Name), strconv.FormatInt(s.Rows, 10)})
	}
	r := &term.Report{}
	r.Table(append(table, []string{"all sources", strconv.FormatInt(n.Rows, 10)}))
	return r.Print(w)
}

// ofSources counts the rows of each source. Each is opened separately, so that a source without
// rows is not an error.
func (a *app) ofSources(ctx context.Context, _ []string, f *flags) (all rowCount, err error) {
	for _, s := range f.Sources {
		s.Weight, s.Repeat, s.Choose = 1, 0, 0
		of := *f
		of.Sources = []shardfeed.Source{s}
		find := a.total
		if s.ChoosesRows() {
			find = a.chosen
		}
		n, err := find(ctx, s.Addresses, &of)
		if err != nil {
			return all, err
		}
		all.Rows, all.AllRows, all.Shards, all.RowGroups = all.Rows+n.Rows, all.AllRows+n.AllRows, all.Shards+n.Shards, all.RowGroups+n.RowGroups
		all.Sources = append(all.Sources, sourceCount{s.Name, n.Rows, n.AllRows})
	}
	return all, nil
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
	at := addresses
	if len(f.Sources) > 0 {
		at = nil
	}
	ds, err := a.open(ctx, at, f)
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
