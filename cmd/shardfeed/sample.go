package main

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/loader"
)

// A sampling is one run of sample.
type sampling struct {
	look
	montageFlags
	sampleSeed uint64
}

func (a *app) sample() *cobra.Command {
	s := &sampling{look: look{app: a}}
	c := &cobra.Command{
		Use:   "sample [flags] ADDRESS...",
		Short: "Show rows chosen at random",
		Long: `sample chooses rows at random, each row of the data with the same chance and none twice, and shows
them in file order, in the forms of head. Each run chooses others; --seed repeats a choice. It reads
no more than the pages of these rows where the files have a page index, else their row groups'
columns. With --sources it chooses so many rows of each source, and names it in a column source.

--montage draws a page of the rows' images too, decoded, cropped and changed as --images says: as
training with seed 0 has them in its first epochs. An image that cannot be decoded is a red tile. A
mask that is like an image is drawn over it in colors, and --boxes draws boxes and points.`,
		Example: `  shardfeed sample data/
  shardfeed sample data/ -n 3 --seed 7 --columns id,label
  shardfeed sample s3://bucket/table --format jsonl --full
  shardfeed sample data/ -n 36 --columns img,label --montage page.png --captions label
  shardfeed sample data/ -n 12 --montage page.png --images img=imagenet_train,hue=0.1 --epochs 4`,
	}
	s.flagsOf(c)
	c.Flags().Uint64Var(&s.sampleSeed, "seed", 0, "seed of the choice (default: another one each time)")
	s.montageOf(c, &s.look)
	s.add(c.Flags(), "storage", "cache")
	return a.verb(c, func(ctx context.Context, addresses []string) (err error) {
		if err := s.checkMontage(c.Flags(), &s.look); err != nil {
			return err
		}
		if err := s.prepare(ctx, c.Flags()); err != nil {
			return err
		}
		if !c.Flags().Changed("seed") {
			s.sampleSeed = rand.Uint64()
		}
		if s.file == "" {
			return s.show(ctx, addresses, s.choose)
		}
		s.begun = func(ctx context.Context, parts []lookPart, shape *loader.Shape) error {
			return s.openMontage(ctx, parts, shape, &s.look)
		}
		s.taken = func(columns []*column.Array, n int) error { return s.page.Add(columns, n) }
		defer func() { err = errors.Join(err, s.page.Close()) }()
		if err := s.show(ctx, addresses, s.choose); err != nil {
			return err
		}
		return s.saveMontage(ctx, a)
	})
}

// choose chooses among the given number of rows, by R. Floyd's algorithm: CACM 30 (1987), "A sample
// of brilliance".
func (s *sampling) choose(rows int64) []int64 {
	random := rand.New(rand.NewPCG(s.sampleSeed, 0))
	chosen := map[int64]bool{}
	for last := rows - min(s.look.count, rows); last < rows; last++ {
		row := random.Int64N(last + 1)
		if chosen[row] {
			row = last
		}
		chosen[row] = true
	}
	return slices.Sorted(maps.Keys(chosen))
}
