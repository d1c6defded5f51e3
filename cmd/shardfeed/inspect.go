package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
)

func (a *app) inspect() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use:   "inspect [flags] ADDRESS...",
		Short: "Show what is in shards, and what should be written differently",
		Long: `inspect reads the footers of all shards and shows rows, row groups, columns, codecs, encodings and page sizes, for each shard and in
total. It warns of what makes reading or shuffling worse than it need be, and says what to write instead.`,
		Example: `  shardfeed inspect data/
  shardfeed inspect data/part-00000.parquet --json`,
	}
	f.object(c.Flags())
	return a.verb(c, func(ctx context.Context, addresses []string) error {
		from := stores()
		shards, err := shard.Discover(ctx, from, addresses)
		if err != nil {
			return err
		}
		r, err := rowgroup.Inspect(ctx, from, shards, rowgroup.Options{
			IndexDir: indexDir(), Events: rowgroup.Events{IndexUnusable: a.indexUnusable},
		})
		if err != nil {
			return err
		}
		if !f.json {
			return printLines(a.stdout, r.String())
		}
		if r.Warnings == nil {
			r.Warnings = []rowgroup.Warning{}
		}
		return writeJSON(a.stdout, r)
	})
}

// printLines prints text whose lines may hold names from files.
func printLines(w io.Writer, text string) error {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(printable(strings.TrimSuffix(line, "\n")))
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}
