package main

import (
	"context"
	"strconv"
	"time"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/internal/cores"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

func (f *flags) spec(addresses []string) shardfeed.Spec {
	s := shardfeed.Spec{
		Addresses: addresses, Columns: f.columns, Strict: f.strict, RowIDs: f.rowIDs, Missing: f.missing, PartitionTypes: f.partitions, InvalidUTF8: f.invalidUTF8, Manifest: f.manifest,
		OnError: f.onError, MaxLost: f.maxLost, Pack: f.pack(), Bucket: f.buckets(),
		Plan: f.plan, SavedPlan: f.pinned, Shuffle: f.shuffle, ShuffleBuffer: f.shuffleBuffer.text, Seed: f.seed, Lanes: f.lanes, UnitRows: f.unitRows,
		MaxWorldSize: f.maxWorldSize, Tail: string(f.tailOrDefault()), BatchSize: f.batchSize, CacheDir: f.cacheDir, CacheLimit: f.cacheLimit, DecodedLimit: f.decoded,
		LookMemory: f.lookLimit(), CachePolicy: f.cachePolicy, NoCache: f.noCache, RequireCache: f.cacheNeeded, NoteLanes: f.noteLanes, Storage: f.storageFlags.options(),
	}
	f.chosen(&s)
	f.mixed(&s)
	f.shaped(&s)
	if f.shuffle {
		s.Start = f.start
	}
	if f.memory > 0 {
		s.Memory = strconv.FormatInt(int64(f.memory), 10)
	}
	return s
}

func (f *flags) checkSpec() error {
	addresses := []string{"any"}
	if len(f.sources.list) > 0 {
		addresses = nil
	}
	if err := f.spec(addresses).Validate(); err != nil {
		return usagef("%s", option.Spelled(err, option.Flag))
	}
	return nil
}

// loader are the loader's options as the flags give them: one worker for each processor.
func (f *flags) loader() loader.Options {
	return loader.Options{
		BatchSize: f.batchSize, Tail: f.tailOrDefault(), Workers: cores.Number(),
		Rank: f.rank, WorldSize: f.worldSize, LocalWorldSize: mem.LocalWorldSize(), Epoch: f.epoch, Epochs: f.epochs, OnError: iterable.OnError(f.onError), MaxLost: f.maxLost,
		NaN: true, Features: f.spec([]string{"any"}).LoaderOptions().Features, Images: f.featureFlags.images,
	}
}

// open opens the data set at the addresses, and shows how far it is. The caller closes it.
func (a *app) open(ctx context.Context, addresses []string, f *flags) (*shardfeed.Dataset, error) {
	ds, _, err := a.openTimed(ctx, addresses, f)
	return ds, err
}

// openTimed says too how long it took to count the rows that are read.
func (a *app) openTimed(ctx context.Context, addresses []string, f *flags) (ds *shardfeed.Dataset, counting time.Duration, err error) {
	shown := newOpening(a.stderr)
	defer shown.close()
	ds, err = shardfeed.Open(ctx, f.spec(addresses), a.events(shown))
	return ds, shown.counting(), err
}

// events note what is not as it was meant, and show how far an opening is.
func (a *app) events(shown *opening) shardfeed.Events {
	note := func(text string) { a.note("%s", text) }
	return shardfeed.Events{
		Note: note, Waiting: func(text string) { a.say("%s", text) }, Files: note, Listed: shown.listed, Footers: shown.footers, Counted: shown.counted,
		PoorMixing: func(m *iterable.PoorMixing) { note(m.Spelled(option.Flag)) },
	}
}

func (a *app) indexUnusable(dir string, err error) {
	a.note("running without an index of footers in %s: %v", dir, err)
}
