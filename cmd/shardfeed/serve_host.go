package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/internal/engine"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A host opens data sets for an engine. What they can share, they share: one account of memory, one
// cache for each directory, one memory of footers and dictionaries.
type host struct {
	log    *slog.Logger
	budget *mem.Budget

	mu     sync.Mutex
	caches map[string]*cache.Cache // by directory
	hot    *rowgroup.Hot

	longest time.Duration // of the epochs so far
}

func newHost(log *slog.Logger) *host {
	return &host{log: log, budget: mem.NewBudget(mem.ThisMachine().SharedLimit()), caches: map[string]*cache.Cache{}}
}

// open opens what a trainer asks for, by the same chain as the verbs do.
func (h *host) open(ctx context.Context, r engine.Request, progress func(engine.Progress)) (*engine.Data, error) {
	a := &app{stdout: io.Discard, stderr: io.Discard, host: h}
	f, err := specFlags(r)
	if err != nil {
		return nil, trainersError(err)
	}
	shown := newOpening(io.Discard)
	shown.tell = throttled(progress)
	defer shown.close()
	o, err := a.options(f)
	if err != nil {
		return nil, trainersError(err)
	}
	how, err := specLoader(r)
	if err != nil {
		return nil, err
	}
	var files []string
	o.Events.Noted = func(text string) { files = append(files, text) }
	o.Transforms = specTransforms(r.Spec)
	o.Budget, o.DefaultMemory = (*iterable.Budget)(h.budget), f.rankMemory()
	if err := o.Validate(); err != nil {
		return nil, valueError("%s", option.Spelled(err, option.Argument))
	}
	ds, err := a.openWith(ctx, r.Spec.Addresses, f, o, shown)
	if err != nil {
		return nil, trainersError(err)
	}
	if err := how.Check(ds.Schema()); err != nil {
		return nil, errors.Join(valueError("%s", option.Spelled(err, option.Argument)), ds.close(ctx))
	}
	if r.Spec.Workers == 0 {
		batch := ds.BatchBytes(how.BatchSize, cmp.Or(how.Tail, shuffle.Pad)) // the most that any number of ranks makes of it
		how.Workers = workersWithin(how.Workers, cmp.Or(int64(f.memory), f.rankMemory()), batch)
		if r.Spec.Slots > 0 {
			how.Workers = max(1, min(how.Workers, r.Spec.Slots-1)) // one batch is the trainer's
		}
	}
	h.keepManifest(ds, f)
	warnings := a.sayAlways(func(text string) {
		h.log.Warn(text, "addresses", r.Spec.Addresses)
		if r.Note != nil {
			r.Note(asArgument(text))
		}
	})
	return &engine.Data{
		Dataset: ds.Dataset, Loader: how, Slots: r.Spec.Slots, Versioned: allFar(r.Spec.Addresses), Warnings: warnings, Files: files,
		EpochTook: func(took time.Duration) { h.keep(ds.source.cache, took) },
		Stats:     func(f engine.Figures) any { return sessionFigures(ds, f) },
		Close:     func(ctx context.Context) error { return ds.source.close(ctx) },
	}, nil
}

// keepAtLeast is how long shards are kept whatever the epochs take: those of one data set may be
// short and another's long.
const keepAtLeast = 24 * time.Hour

// keep lets a cache keep what it holds until the next epoch has used it.
func (h *host) keep(c *cache.Cache, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.longest = max(h.longest, took); c != nil {
		c.KeepFor(max(keepAtLeast, 2*h.longest))
	}
}

// keepManifest keeps the list of shards, so that a resume can say how they differ, or go on with
// the old list.
func (h *host) keepManifest(ds *dataset, f *flags) {
	if dir := f.manifestDir(); dir != "" {
		if _, err := ds.SaveManifest(dir); err != nil {
			h.log.Warn("the list of shards is not kept", "error", err)
		}
	}
}

// cacheIn is the one cache of a directory, which open opens where nobody did; it may be nil.
func (h *host) cacheIn(dir string, open func() (*cache.Cache, error)) (*cache.Cache, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.caches[dir]; c != nil {
		return c, nil
	}
	c, err := open()
	if c != nil {
		h.caches[dir] = c
	}
	return c, err
}

// hotOf is the one memory of footers and dictionaries, of so many bytes where nobody has made it.
func (h *host) hotOf(bytes int64) *rowgroup.Hot {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hot == nil {
		h.hot = rowgroup.NewHot(bytes)
	}
	return h.hot
}

// close finishes what waits for the caches' disks, or drops it when the engine was told to end at
// once.
func (h *host) close(ctx context.Context) {
	timeout := finishFills
	if ctx.Err() != nil {
		timeout = dropFills
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	for dir, c := range h.caches {
		if err := c.Close(bounded); err != nil {
			h.log.Warn("closing the cache", "dir", dir, "error", err)
		}
	}
	h.hot.Close()
}

// trainersError speaks of arguments where a verb's error speaks of flags.
func trainersError(err error) error {
	var wrong *usageError
	switch {
	case errors.As(err, &wrong):
		return valueError("%s", wrong.message)
	case errors.Is(err, cache.ErrUnfit):
		return valueError("%v", err)
	}
	return err
}

// allFar reports whether all addresses lead to servers.
func allFar(addresses []string) bool {
	for _, address := range addresses {
		if !isRemote(address) {
			return false
		}
	}
	return true
}

// throttled tells of an opening now and then.
func throttled(progress func(engine.Progress)) func(shards, read, of int64) {
	var mu sync.Mutex
	var last time.Time
	return func(shards, read, of int64) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(last) < openingEvery && read < of {
			return
		}
		last = time.Now()
		doing := "footers"
		if of == 0 {
			doing = "list"
		}
		progress(engine.Progress{Shards: shards, Footers: read, Of: of, Doing: doing})
	}
}

// workersOf is how many goroutines collate for a rank: its share of the processors.
func workersOf(r engine.Request) int {
	if r.Spec.Workers > 0 {
		return r.Spec.Workers
	}
	return max(1, (runtime.GOMAXPROCS(0)+r.LocalWorldSize-1)/r.LocalWorldSize)
}

// batchPart is the part of a rank's memory that batches may take, as far as it is for their number
// to say.
const batchPart = 4

// workersWithin is how many of the workers leave room for all else, where each has two batches
// under way and the trainer has four.
func workersWithin(workers int, memory, batch int64) int {
	for workers > 1 && int64(2*workers+4)*batch > memory/batchPart {
		workers--
	}
	return workers
}

// sessionFigures are the figures of a session under bench's names. Processor time, resident memory
// and what was asked of servers are those of the engine and of the data set.
func sessionFigures(ds *dataset, f engine.Figures) *measurement {
	user, system := cpuTime()
	m := &measurement{
		Rows: f.Rows, Batches: f.Batches, Seconds: f.Took.Seconds(), FirstBatchSeconds: f.FirstBatch.Seconds(), DecodedBytes: f.Bytes,
		UserSeconds: user.Seconds(), SystemSeconds: system.Seconds(), CPUSeconds: (user + system).Seconds(), PeakRSS: peakRSS(),
		BudgetBytes: f.Reserved, Storage: ds.source.direct.Traffic(), Cache: ds.source.use(),
	}
	m.addStats(f.Loaders...)
	return m
}
