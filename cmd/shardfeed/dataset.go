package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

// smallExcess is how many bytes over the estimate nobody needs to know of.
const smallExcess = 16 << 20

// options are the data set's options as the flags give them.
func (a *app) options(f *flags) (iterable.Options, error) {
	o := iterable.Options{
		Columns: f.columns, Missing: f.missingColumns(), InvalidUTF8: f.utf8(),
		Shuffle: f.shuffle, ShuffleBuffer: iterable.Size{Rows: f.shuffleBuffer.rows, Bytes: f.shuffleBuffer.bytes}, Seed: f.seed,
		Tail: f.tailOrDefault(), Lanes: f.lanes, UnitRows: f.unitRows, MaxWorldSize: f.maxWorldSize,
		Memory: int64(f.memory), IndexDir: indexDir(), ManifestDir: manifestDir(),
		Events: iterable.Events{
			IndexUnusable: a.indexUnusable,
			OverEstimate: func(measured, estimated int64) {
				if measured-estimated > smallExcess {
					a.note("blocks took %v of memory where the files' metadata foretold %v", mem.Bytes(measured), mem.Bytes(estimated))
				}
			},
		},
	}
	if f.shuffle {
		o.Start = shuffle.Start(f.start)
	}
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

// open opens the data set at the addresses. The caller closes it.
func (a *app) open(ctx context.Context, addresses []string, f *flags) (*iterable.Dataset, error) {
	o, err := a.options(f)
	if err != nil {
		return nil, err
	}
	return iterable.Open(ctx, stores(), addresses, o)
}

func (a *app) indexUnusable(dir string, err error) {
	a.note("going on without an index of footers in %s: %v", dir, err)
}

// indexDir is where footers are kept for the next start, or "" when the machine has no place for it.
func indexDir() string { return rowgroup.IndexDir(os.Getenv) }

// manifestDir is where the lists of shards of earlier runs are kept, beside the index.
func manifestDir() string {
	if dir := indexDir(); dir != "" {
		return filepath.Join(filepath.Dir(dir), "manifests")
	}
	return ""
}
