package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/counting"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/snapshot"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
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

With --tokenize it also counts the tokens of the texts in the chosen rows, which reads them. These
counts are kept too.

With --sources it prints the rows of each source, under its own rules, and of all together.`,
		Example: `  shardfeed count data/
  shardfeed count data/ --where 'price >= 10 and label is not null'
  shardfeed count 's3://bucket/table/dt=2026-01-*/*.parquet' --json
  shardfeed count data/ --tokenize text=tokenizer.json
  shardfeed count --sources sources.json`,
	}
	fs := c.Flags()
	f.looks(fs)
	f.add(fs, "json", "what.reading", "what.snapshot", "rows", "tokenize", "sources.files", "storage", "cache")
	return a.verb(c, func(ctx context.Context, addresses []string) error {
		if err := f.check(ctx, fs); err != nil {
			return err
		}
		find := a.counted
		if len(f.Sources) > 0 {
			find = a.ofSources
		}
		total, err := find(ctx, addresses, f)
		if err != nil {
			return err
		}
		if f.json {
			return term.WriteJSON(a.stdout, total)
		}
		if total.Table != nil {
			a.note("%v", total.Table)
		}
		return total.Print(a.stdout)
	})
}

// ofSources counts the rows of each source. Each is opened separately, so that a source without
// rows is not an error.
func (a *app) ofSources(ctx context.Context, _ []string, f *flags) (all counting.Rows, err error) {
	for _, s := range f.Sources {
		s.Weight, s.Repeat, s.Choose = 1, 0, 0
		of := *f
		of.Sources = []shardfeed.Source{s}
		n, err := a.counted(ctx, s.Addresses, &of)
		if err != nil {
			return all, err
		}
		all.AddSource(s.Name, n)
	}
	return all, nil
}

// counted counts the rows that the flags choose of one table, and the tokens of their texts.
func (a *app) counted(ctx context.Context, addresses []string, f *flags) (n counting.Rows, err error) {
	rows, find := *f, a.total
	rows.Tokenize, rows.Sources = nil, slices.Clone(f.Sources)
	for i := range rows.Sources {
		rows.Sources[i].OwnTokens = shardfeed.OwnTokens{}
	}
	if f.ChoosesRows() || len(f.Sources) > 0 && f.Sources[0].ChoosesRows() || table.AnyTable(addresses) { // which may have deleted rows
		find = a.chosen
	}
	n, err = find(ctx, addresses, &rows)
	for _, column := range slices.Sorted(maps.Keys(f.Tokenize)) {
		if err == nil {
			err = a.countTokens(ctx, addresses, f, column, &n)
		}
	}
	return n, err
}

// tokensAtOnce is the size of the blocks that tokens are counted in.
const tokensAtOnce = 1 << 20

// countTokens counts the tokens of a column, by blocks that are counted and not read.
func (a *app) countTokens(ctx context.Context, addresses []string, f *flags, column string, to *counting.Rows) error {
	of := *f
	of.Columns, of.Pack = []string{column}, &shardfeed.Pack{Columns: map[string]int{column: tokensAtOnce}}
	of.Tokenize = map[string]shardfeed.Tokenizer{column: f.Tokenize[column]}
	if len(f.Sources) > 0 {
		addresses, of.Sources = nil, slices.Clone(f.Sources)
		of.Sources[0].OwnTokens = f.Sources[0].Only(column)
	}
	ds, err := a.open(ctx, addresses, &of)
	var wrong *iterable.OptionError
	switch {
	case errors.As(err, &wrong) && strings.HasPrefix(wrong.Field, "Tokenize["):
		return wrong // without errors of the packing, which no flag gave
	case errors.Is(err, iterable.ErrNoRow):
		to.AddTexts(counting.Texts{Column: column})
		return nil
	case err != nil:
		return err
	}
	texts := ds.TextPlans()[0].Texts
	if texts == nil {
		err = fmt.Errorf("the index has counts of column %q that an earlier version kept without tokens: remove the files *.sfc of the index", column)
	} else {
		to.AddTexts(counting.Texts{Column: column, Texts: *texts})
	}
	return errors.Join(err, ds.Close(ctx))
}

// total adds up the rows that footers state.
func (a *app) total(ctx context.Context, addresses []string, f *flags) (n counting.Rows, err error) {
	err = a.withShards(ctx, addresses, f, func(stores shard.Stores, all foundShards, o rowgroup.Options) error {
		footers, err := rowgroup.Footers(ctx, stores, all.shards, o)
		n.Shards, n.Table = len(all.shards), snapshot.Of(all.table)
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
func (a *app) chosen(ctx context.Context, addresses []string, f *flags) (n counting.Rows, err error) {
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
	n = counting.Rows{Rows: ds.NumSamples(), AllRows: ds.NumRows(), Shards: len(m.Shards()), RowGroups: len(m.Groups()), Table: snapshot.Of(ds.Tables()[0])}
	return n, errors.Join(err, ds.Close(ctx))
}
