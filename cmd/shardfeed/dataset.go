package main

import (
	"context"
	"errors"
	"runtime"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
)

// smallExcess is how many bytes over the estimate are not worth a note.
const smallExcess = 16 << 20

// options are the data set's options as the flags give them.
func (a *app) options(f *flags) (iterable.Options, error) {
	o := iterable.Options{
		Columns: f.columns, Strict: f.strict, Missing: f.missingColumns(), InvalidUTF8: f.utf8(),
		Shuffle: f.shuffle, ShuffleBuffer: iterable.Size{Rows: f.shuffleBuffer.rows, Bytes: f.shuffleBuffer.bytes}, Seed: f.seed,
		Tail: f.tailOrDefault(), Lanes: f.lanes, UnitRows: f.unitRows, MaxWorldSize: f.maxWorldSize,
		Memory: int64(f.memory), IndexDir: f.indexDir(), ManifestDir: f.manifestDir(),
		Events: iterable.Events{
			IndexUnusable: a.indexUnusable,
			Noted:         func(text string) { a.note("%s", text) },
			OverEstimate: func(measured, estimated int64) {
				if measured-estimated > smallExcess {
					a.note("blocks took %v of memory; the files' metadata predicted %v", mem.Bytes(measured), mem.Bytes(estimated))
				}
			},
		},
	}
	if f.shuffle {
		o.Start = shuffle.Start(f.start)
	}
	o.Plan = f.pinned
	if f.manifest != "" {
		var err error
		if o.Manifest, err = iterable.ReadManifest(f.manifest); err != nil {
			return o, fileError(err)
		}
	}
	return o, nil
}

// loader are the loader's options as the flags give them: one worker for each processor.
func (f *flags) loader() loader.Options {
	return loader.Options{
		BatchSize: f.batchSize, Tail: f.tailOrDefault(), Workers: runtime.GOMAXPROCS(0),
		Rank: f.rank, WorldSize: f.worldSize, Epoch: f.epoch, Epochs: f.epochs,
	}
}

// A dataset is an open data set and where it reads from.
type dataset struct {
	*iterable.Dataset
	source *source
}

// open opens the data set at the addresses, and shows its progress. Budget may be nil. The caller
// closes what it gets.
func (a *app) open(ctx context.Context, addresses []string, f *flags, budget *mem.Budget) (*dataset, error) {
	o, err := a.options(f)
	if err != nil {
		return nil, err
	}
	shown := newOpening(a.stderr)
	defer shown.close()
	o.Budget = (*iterable.Budget)(budget)
	return a.openWith(ctx, addresses, f, o, shown)
}

// openWith opens the data set with these options and what the flags say of stores.
func (a *app) openWith(ctx context.Context, addresses []string, f *flags, o iterable.Options, shown *opening) (*dataset, error) {
	from, err := a.connect(f, addresses, shown)
	if err != nil {
		return nil, err
	}
	o.Hot, o.StoreMemory = from.hot, from.memory
	o.Events.FootersRead = shown.footers
	ds, err := iterable.Open(ctx, from.Stores, addresses, o)
	if err != nil {
		return nil, errors.Join(err, from.close(ctx))
	}
	from.throughCache()
	return &dataset{Dataset: ds, source: from}, nil
}

// close closes the data set and what is below it. Streams are closed before.
func (d *dataset) close(ctx context.Context) error {
	return errors.Join(d.Dataset.Close(), d.source.close(ctx))
}

func (a *app) indexUnusable(dir string, err error) {
	a.note("running without an index of footers in %s: %v", dir, err)
}
