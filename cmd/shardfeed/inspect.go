package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/imagery"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/snapshot"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/inspect"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

func (a *app) inspect() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use:   "inspect [flags] ADDRESS...",
		Short: "Show what is in shards, and what should be written differently",
		Long: `inspect reads the footers of all shards and shows rows, row groups, columns, codecs, encodings and
page sizes, for each shard and in total; also nulls, least and greatest value of each column by the
writers' statistics, what rows are sorted by, and key-value metadata. It warns of what makes reading
or shuffling worse than it need be, and says what to write instead. On HDFS it also shows how the
files lie: block size, copies, erasure coding, hosts.

Of binary columns whose first rows hold images it reads some rows, at most 128 of four shards and
128MiB, and shows formats, sizes, and how many are progressive or turned by their EXIF orientation.`,
		Example: `  shardfeed inspect data/
  shardfeed inspect data/part-00000.parquet --json`,
	}
	fs := c.Flags()
	f.looks(fs)
	f.add(fs, "what.snapshot", "json", "storage", "cache")
	return a.verb(c, func(ctx context.Context, addresses []string) error {
		if err := f.check(ctx, fs); err != nil {
			return err
		}
		i, err := a.inspection(ctx, addresses, f)
		if err != nil {
			return err
		}
		return a.print(f, i, i.report())
	})
}

type inspection struct {
	*inspect.Report
	Table     *snapshot.Table   `json:"table,omitempty"`     // whose files these are, with the names that files have for columns
	Images    []*imagery.Sample `json:"images"`              // of columns whose first rows hold images
	Placement []*placement      `json:"placement,omitempty"` // of the first shards, where their store knows it
}

// inspection reads footers, and asks for the placement of shards on their servers.
func (a *app) inspection(ctx context.Context, addresses []string, f *flags) (i *inspection, err error) {
	err = a.withShards(ctx, addresses, f, func(stores shard.Stores, all foundShards, o rowgroup.Options) error {
		r, err := inspect.Inspect(ctx, stores, all.shards, o)
		if err != nil {
			return err
		}
		if r.Warnings == nil {
			r.Warnings = []inspect.Warning{}
		}
		i = &inspection{Report: r, Table: snapshot.Of(all.table), Images: []*imagery.Sample{}}
		if err := a.sampleImages(ctx, i, stores, all.shards, o); err != nil {
			return err
		}
		if i.Placement, err = placements(ctx, stores, all.shards); err != nil && ctx.Err() == nil {
			a.note("how the shards lie on their servers cannot be told: %v", err)
			err = nil
		}
		return err
	})
	return i, err
}

// foundShards are shards, and the table that they are, or nil.
type foundShards struct {
	shards []shard.Shard
	table  *table.Snapshot
}

// withShards calls do with the shards of the addresses, and with options that read their footers and
// show progress. It keeps no bytes of shards: the index keeps the footers.
func (a *app) withShards(ctx context.Context, addresses []string, f *flags, do func(shard.Stores, foundShards, rowgroup.Options) error) (err error) {
	describesFooters()
	shown := term.NewOpening(a.stderr)
	defer shown.Close()
	stores, err := f.at(nil).Stores(a.events(shown))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()
	shards, t, err := f.Find(ctx, stores, addresses, shardfeed.Events{Files: func(text string) { a.note("%s", text) }})
	if err != nil {
		return err
	}
	reading := f.Reading()
	return do(stores, foundShards{shards, t}, rowgroup.Options{
		MissingIsNull: reading.MissingIsNull, PartitionTypes: reading.PartitionTypes, ReplaceUTF8: reading.ReplaceUTF8, Pool: &rowgroup.Pool{Limit: f.lookLimit()},
		IndexDir: f.Places().Index, Table: iterable.TableColumns(t, addresses[0]), Events: rowgroup.Events{IndexUnusable: a.indexUnusable, FootersRead: shown.Footers},
	})
}

func (i *inspection) report() *term.Report {
	r := &term.Report{}
	if i.Table != nil {
		r.Line(i.Table.String())
		r.Line("columns as the files name them; schema shows the table's names")
		r.Line("")
	}
	for line := range strings.Lines(i.String() + placementText(i.Placement)) {
		r.Line(strings.TrimSuffix(line, "\n"))
	}
	imagery.Report(r, i.Images)
	return r
}
