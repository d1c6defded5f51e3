package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

const (
	demoRanks  = 2
	demoEpochs = 2
	demoBatch  = 32
)

type demoCommand struct {
	*app
	flags
}

func (a *app) demo() *cobra.Command {
	d := &demoCommand{app: a}
	c := &cobra.Command{
		Use:   "demo [flags]",
		Short: "Stream two shuffled epochs to two ranks, and prove what was promised",
		Long: `demo trains nothing, but streams as training would: two shuffled epochs to two ranks at once, from
a small shop within this program. It reports the speed, the memory, that each row came exactly once,
and what a filter and a split into parts leave.`,
		Example: `  shardfeed demo
  shardfeed demo --seed 3 --memory 128MiB`,
		Args: cobra.NoArgs,
	}
	fs := c.Flags()
	fs.IntVar(&d.BatchSize, "batch-size", demoBatch, "rows of a batch, per rank")
	fs.Uint64Var(&d.Seed, "seed", 0, "seed of the order")
	fs.Var(&specText{&d.Memory, "size"}, "memory", "limit of a rank in bytes, as in 512MiB (default: a quarter of the machine's or cgroup's)")
	fs.Var(&specText{&d.ShuffleBuffer, "rows|size"}, "shuffle-buffer", "rows that are mixed at once, over both ranks: a number of rows or bytes")
	d.add(fs, "json")
	return a.runs(c, func(ctx context.Context, _ []string) error {
		d.Shuffle, d.Start, d.worldSize, d.epochs = true, shuffle.Filled, demoRanks, demoEpochs
		if err := d.check(ctx, fs); err != nil {
			return err
		}
		from, addresses, err := embeddedShop()
		if err != nil {
			return err
		}
		result, err := d.run(ctx, from, addresses)
		if err != nil {
			return err
		}
		return errors.Join(a.print(&d.flags, result, result.report()), result.verify())
	})
}

// run reads the shop whole, in two parts, and under a filter and its opposite.
func (d *demoCommand) run(ctx context.Context, from shard.Stores, addresses []string) (*demoResult, error) {
	budget := mem.NewBudget(mem.ThisMachine().SharedLimit())
	buffer, _ := iterable.ParseSize(d.ShuffleBuffer)
	shop := demoShop{from: from, addresses: addresses, options: iterable.Options{
		Order: iterable.Order{Shuffle: true, Seed: d.Seed, Tail: d.tailOrDefault()}, ShuffleBuffer: buffer, Resources: iterable.Resources{Memory: d.memoryLimit(), Budget: (*iterable.Budget)(budget)},
	}}
	r := &demoResult{Ranks: demoRanks, Epochs: demoEpochs, BatchSize: d.BatchSize}
	err := d.train(ctx, shop, budget, r)
	if err == nil {
		r.Filter, err = shop.filtered(ctx)
	}
	if err == nil {
		r.Split, err = shop.split(ctx)
	}
	return r, err
}
