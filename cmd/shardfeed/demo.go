package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
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
	size byteSize
}

func (a *app) demo() *cobra.Command {
	d := &demoCommand{app: a}
	c := &cobra.Command{
		Use:   "demo [flags]",
		Short: "Stream two shuffled epochs to two ranks, and prove what was promised",
		Long: `demo trains nothing, but streams as training would: two shuffled epochs to two ranks at once, from
a small shop that lies in this program, or from a larger one of the same kind that --size
generates in a temporary directory. It reports the speed, the memory, that each row came exactly
once, how well the batches were mixed, and what a filter and a split into parts leave.`,
		Example: `  shardfeed demo
  shardfeed demo --size 256MiB --memory 128MiB`,
		Args: cobra.NoArgs,
	}
	fs := c.Flags()
	fs.Var(&d.size, "size", "generate a shop of about this size, as in 256MiB, instead of the embedded one")
	fs.IntVar(&d.batchSize, "batch-size", demoBatch, "rows of a batch, per rank")
	fs.Uint64Var(&d.seed, "seed", 0, "seed of the order")
	fs.Var(&d.memory, "memory", "limit of a rank in bytes, as in 512MiB (default: a quarter of the machine's or cgroup's)")
	fs.Var(&d.shuffleBuffer, "shuffle-buffer", "rows that are mixed at once, over both ranks: a number of rows or bytes")
	d.object(fs)
	return a.runs(c, func(ctx context.Context, _ []string) error {
		d.shuffle, d.start, d.worldSize, d.epochs = true, string(shuffle.Filled), demoRanks, demoEpochs
		if err := d.check(ctx, fs); err != nil {
			return err
		}
		result, err := d.stream(ctx)
		if err != nil {
			return err
		}
		return errors.Join(a.print(&d.flags, result, result.report()), result.verify())
	})
}

// stream makes the data, streams it and removes it.
func (d *demoCommand) stream(ctx context.Context) (result *demoResult, err error) {
	var (
		from      shard.Stores
		addresses []string
	)
	if d.size == 0 {
		if from, addresses, err = embeddedShop(); err != nil {
			return nil, err
		}
	} else {
		dir, err := os.MkdirTemp("", "shardfeed-demo-")
		if err != nil {
			return nil, fileError(err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		if err := d.generate(ctx, dir); err != nil {
			return nil, err
		}
		from, addresses = shard.Stores{"": local.Store{}}, []string{dir}
	}
	budget := mem.NewBudget(mem.ThisMachine().SharedLimit())
	o := iterable.Options{
		Shuffle: true, ShuffleBuffer: d.shuffleBuffer.size(), Seed: d.seed,
		Tail: d.tailOrDefault(), Memory: int64(d.memory), Budget: (*iterable.Budget)(budget),
	}
	ds, err := iterable.Open(ctx, from, addresses, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ds.Close()) }()
	if result, err = d.train(ctx, ds, budget); err == nil {
		result.Filter, result.Split, err = d.choices(ctx, from, addresses, o)
	}
	return result, err
}

// generate writes the shop with a bar of its own, where there is room for it.
func (d *demoCommand) generate(ctx context.Context, dir string) error {
	if free := freeBytes(dir); free > 0 && int64(d.size) > free {
		return fmt.Errorf("%s: %v are free there, and the shop takes %v", filepath.Dir(dir), mem.Bytes(free), mem.Bytes(d.size))
	}
	bar := newByteProgress(d.stderr, "generate", int64(d.size))
	defer bar.close()
	return generateShop(ctx, dir, int64(d.size), func(bytes int64) { bar.add(int(bytes)) })
}
