package main

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/spf13/cobra"
)

// A sampling is one run of sample.
type sampling struct {
	look
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
columns.`,
		Example: `  shardfeed sample data/
  shardfeed sample data/ -n 3 --seed 7 --columns id,label
  shardfeed sample s3://bucket/table --format jsonl --full`,
	}
	s.flagsOf(c)
	c.Flags().Uint64Var(&s.sampleSeed, "seed", 0, "seed of the choice (default: another one each time)")
	s.remote(c.Flags())
	return a.verb(c, func(ctx context.Context, addresses []string) error {
		if err := s.prepare(c.Flags()); err != nil {
			return err
		}
		if !c.Flags().Changed("seed") {
			s.sampleSeed = rand.Uint64()
		}
		return s.show(ctx, addresses, s.choose)
	})
}

// choose chooses among so many rows, by R. Floyd's algorithm: CACM 30 (1987), "A sample of
// brilliance".
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
