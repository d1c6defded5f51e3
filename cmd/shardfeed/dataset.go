package main

import (
	"context"
	"fmt"

	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

// options are the data set's options as the flags give them.
func (a *app) options(f *flags) iterable.Options {
	o := iterable.Options{
		Columns: f.columns, Missing: f.missingColumns(), InvalidUTF8: f.utf8(),
		Shuffle: f.shuffle, ShuffleBuffer: iterable.Size{Rows: f.shuffleBuffer.rows, Bytes: f.shuffleBuffer.bytes}, Seed: f.seed,
		Tail: f.tailOrDefault(), Lanes: f.lanes, UnitRows: f.unitRows, MaxWorldSize: f.maxWorldSize,
		Memory: int64(f.memory), IndexDir: indexDir(),
	}
	if f.shuffle {
		o.Start = shuffle.Start(f.start)
	}
	if isTerminal(a.stderr) {
		o.Events.IndexUnusable = func(dir string, err error) {
			fmt.Fprintf(a.stderr, "shardfeed: going on without an index of footers in %s: %s\n", dir, oneLine(err.Error()))
		}
	}
	return o
}

// open opens the data set at the addresses. The caller closes it.
func (a *app) open(ctx context.Context, addresses []string, f *flags) (*iterable.Dataset, error) {
	return iterable.Open(ctx, stores(), addresses, a.options(f))
}
