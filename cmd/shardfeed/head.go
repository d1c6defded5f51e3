package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) head() *cobra.Command {
	l := &look{app: a}
	c := &cobra.Command{
		Use:   "head [flags] ADDRESS...",
		Short: "Show the first rows",
		Long: `head shows the first rows in file order: as a table on a terminal, else as JSON lines. Texts of more
than 100 characters and binary values of more than 24 bytes are shortened, images to their format and
size, and in a table every value of more than 40 columns; --full shows them whole. It reads no more
than the pages of these rows where the files have a page index.

With --sources it shows the first rows of each source, as its rules choose them, and their names in
a column source.`,
		Example: `  shardfeed head data/
  shardfeed head data/ -n 3 --columns id,label
  shardfeed head data/ --format csv --full
  shardfeed head --sources sources.json -n 3`,
	}
	l.flagsOf(c)
	l.add(c.Flags(), "storage", "cache")
	return a.verb(c, func(ctx context.Context, addresses []string) error {
		if err := l.prepare(ctx, c.Flags()); err != nil {
			return err
		}
		return l.show(ctx, addresses, l.first)
	})
}

// first are the numbers of the first rows.
func (l *look) first(rows int64) []int64 {
	numbers := make([]int64, min(l.count, rows))
	for i := range numbers {
		numbers[i] = int64(i)
	}
	return numbers
}
