package main

import (
	"context"
	"time"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/cores"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

func (f *flags) checkSpec() error {
	addresses := []string{"any"}
	if f.Snapshot != "" { // addresses may be of tables
		addresses[0] = "delta+any"
	}
	if len(f.Sources) > 0 {
		addresses = nil
	}
	if err := f.at(addresses).Validate(); err != nil {
		return usagef("%s", option.Spelled(err, option.Flag))
	}
	return nil
}

// loader are the loader's options as the flags give them: one worker for each processor.
func (f *flags) loader() loader.Options {
	return loader.Options{
		BatchSize: f.BatchSize, Tail: f.tailOrDefault(), Workers: cores.Number(),
		Rank: f.rank, WorldSize: f.worldSize, LocalWorldSize: mem.LocalWorldSize(), Epoch: f.epoch, Epochs: f.epochs,
		NaN: true, Features: f.at([]string{"any"}).LoaderOptions().Features, Images: f.Images, Boxes: f.Boxes,
	}
}

// open opens the data set at the addresses, and shows how far it is. The caller closes it.
func (a *app) open(ctx context.Context, addresses []string, f *flags) (*shardfeed.Dataset, error) {
	ds, _, err := a.openTimed(ctx, addresses, f)
	return ds, err
}

// openTimed says too how long it took to count the rows that are read.
func (a *app) openTimed(ctx context.Context, addresses []string, f *flags) (ds *shardfeed.Dataset, counting time.Duration, err error) {
	shown := term.NewOpening(a.stderr)
	defer shown.Close()
	ds, err = shardfeed.Open(ctx, f.at(addresses), a.events(shown))
	return ds, shown.Counting(), err
}

// events note what is not as it was meant, and show how far an opening is.
func (a *app) events(shown *term.Opening) shardfeed.Events {
	note := func(text string) { a.note("%s", text) }
	return shardfeed.Events{
		Note: note, Waiting: func(text string) { a.say("%s", text) }, Files: note, Listed: shown.Listed, Footers: shown.Footers, Counted: shown.Counted,
		Tokenizing: func(e iterable.TextEstimate) { note(e.String()) },
		PoorMixing: func(m *iterable.PoorMixing) { note(m.Spelled(option.Flag)) },
	}
}

func (a *app) indexUnusable(dir string, err error) {
	a.note("running without an index of footers in %s: %v", dir, err)
}
