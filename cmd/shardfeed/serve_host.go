package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/process"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/metrics"
	"github.com/shardfeed/shardfeed/internal/engine"
	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
)

type host struct {
	*shardfeed.Host
	log      *slog.Logger
	decoders *imageDecoders
	metrics  *metrics.Endpoint // nil: not served

	tellMetrics sync.Once // to the trainers of the first data set
}

func newHost(log *slog.Logger) *host {
	return &host{Host: shardfeed.NewHost(nil), log: log, decoders: newImageDecoders()}
}

func (h *host) open(ctx context.Context, r engine.Request, progress func(wire.Progress)) (*engine.Data, error) {
	s := r.Spec
	s.Inventory, s.CountShare = r.Inventory, r.CountShare
	s.LocalWorldSize, s.NoteLanes = max(1, r.LocalWorldSize), true
	notes, files := &notes{}, &notes{}
	decoder, err := h.decoders.of(s)
	if err != nil {
		return nil, valueError(err)
	}
	events := openingEvents(h.log, notes, files, progress)
	events.Found = r.Found
	ds, err := h.Open(ctx, s, events)
	if errors.Is(err, cache.ErrUnfit) {
		return nil, valueError(err)
	}
	if err != nil {
		return nil, err
	}
	how := s.LoaderOptions()
	how.ImageDecoder = decoder.make
	if err := how.Check(ds.BatchSchema()); err != nil {
		return nil, errors.Join(valueError(err), ds.Close(ctx))
	}
	if s.Workers == 0 {
		how.Workers = fewerWorkers(ds.Dataset, s, how)
	}
	if text := decoder.warning(); text != "" {
		notes.add(text)
	}
	info := h.aboutMetrics(notes)
	if err := ds.KeepManifest(); err != nil {
		h.log.Warn("the list of shards is not kept", "error", err)
	}
	warnings := notes.tell(func(text string) {
		h.log.Warn(text, "addresses", s.AllAddresses())
		if r.Note != nil {
			r.Note(text)
		}
	})
	chosen := ds.Chosen()
	if decoder.name != "" {
		chosen["ImageDecoder"] = decoder.name
		info = append(info, decoder.info())
		h.log.Info(decoder.info())
	}
	mapMemory := int64(0)
	if s.Memory == "" { // the ranks of this machine share the rows that they read by number
		mapMemory = s.RankMemory() * int64(s.LocalWorldSize)
	}
	return &engine.Data{
		MapMemory: mapMemory,
		Dataset:   ds.Dataset, Loader: how, FewerWorkers: s.Workers == 0, Slots: s.Slots, Versioned: allRemote(s.AllAddresses()), Chosen: chosen, Choose: ds.SaveRows, Latest: ds.Latest, Documents: ds.DocumentsJSON, Warnings: warnings, Files: files.tell(nil), Info: info,
		EpochTook: ds.EpochTook,
		Kept:      keptOf(ds),
		Stores:    ds.Drivers(),
		Stats:     func(f engine.Figures) any { return sessionFigures(ds, decoder.name, f) },
		Close:     ds.Close,
	}, nil
}

// fewerWorkers returns how many workers the memory and the slots of a rank allow.
func fewerWorkers(ds *iterable.Dataset, s shardfeed.Spec, how loader.Options) int {
	most := how
	most.Tail = cmp.Or(how.Tail, shuffle.Pad) // the most that any number of ranks makes of it
	workers := workersWithin(how.Workers, s.RankMemory(), loader.BatchBytes(ds, most))
	if s.Slots > 0 {
		workers = max(1, min(workers, s.Slots-1)) // one batch is the trainer's
	}
	return workers
}

// aboutMetrics returns the address of metrics for the trainers of the first data set, or notes the
// error of serving them.
func (h *host) aboutMetrics(notes *notes) (info []string) {
	h.tellMetrics.Do(func() {
		if err := h.metrics.Trouble(); err != nil {
			notes.add(err.Error())
		}
		if url := h.metrics.URL(); url != "" {
			info = append(info, "metrics are served at "+url)
		}
	})
	return info
}

// cacheWork returns the work of the open caches.
func (h *host) cacheWork() []engine.CacheWork {
	open := h.Caches()
	var all []engine.CacheWork
	for _, dir := range slices.Sorted(maps.Keys(open)) {
		c := open[dir]
		all = append(all, engine.CacheWork{Directory: dir, Limit: c.Limit(), Held: c.DiskBytes(), Stats: c.Stats()})
	}
	return all
}

// openingEvents report the progress of an opening, and collect its notes.
func openingEvents(log *slog.Logger, noted, files *notes, progress func(wire.Progress)) shardfeed.Events {
	tell := throttled(progress)
	return shardfeed.Events{
		Note: noted.add, Files: files.add,
		Waiting: func(text string) {
			log.Warn(text)
			noted.add(text)
		},
		Listed: func(n int) { tell(wire.Progress{Shards: int64(n), Doing: "list"}) },
		Footers: func(n, of int) {
			tell(wire.Progress{Shards: int64(of), Footers: int64(n), Of: int64(of), Doing: "footers"})
		},
		Tokenizing: func(e iterable.TextEstimate) { log.Info(e.String()) },
		Counted:    func(n, of int64) { tell(wire.Progress{Counted: n, Of: of, Doing: "rows"}) },
	}
}

// notes keep what is said until a trainer hears it.
type notes struct {
	mu    sync.Mutex
	texts []string
	to    func(text string)
}

func (n *notes) add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.to != nil {
		n.to(oneLine(text))
		return
	}
	n.texts = append(n.texts, oneLine(text))
}

// tell passes later texts to a function, and returns the texts so far.
func (n *notes) tell(to func(text string)) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.to = to
	return n.texts
}

// close waits for the caches' disks, but not long when the engine has to end at once.
func (h *host) close(ctx context.Context) {
	if err := h.Close(ctx); err != nil {
		h.log.Warn("closing the caches", "error", err)
	}
}

// allRemote reports whether all addresses lead to servers.
func allRemote(addresses []string) bool {
	return !slices.ContainsFunc(addresses, func(a string) bool { return !shardfeed.IsRemote(a) })
}

const progressEvery = 100 * time.Millisecond // the least time between two messages of progress

// throttled limits how often progress is called.
func throttled(progress func(wire.Progress)) func(wire.Progress) {
	var mu sync.Mutex
	var last time.Time
	return func(p wire.Progress) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(last) < progressEvery && p.Footers+p.Counted < p.Of {
			return
		}
		last = time.Now()
		progress(p)
	}
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

// sessionFigures are the figures of a session under bench's names. Processor time and resident
// memory are the engine's, and storage and cache the data set's.
func sessionFigures(ds *shardfeed.Dataset, decoder string, f engine.Figures) *measurement {
	user, system := process.CPUTime()
	m := &measurement{
		Rows: f.Rows, Batches: f.Batches, Seconds: f.Took.Seconds(), FirstBatchSeconds: f.FirstBatch.Seconds(), DecodedBytes: f.Bytes,
		UserSeconds: user.Seconds(), SystemSeconds: system.Seconds(), CPUSeconds: (user + system).Seconds(), PeakRSS: process.PeakRSS(),
		BudgetBytes: f.Reserved, Storage: ds.Drivers().Traffic(), Stores: ds.Drivers().ByStore(), Cache: useOf(ds), Lost: lostPlaces(ds.Losses()), ImageDecoder: decoder,
		ImagesRefused: f.ImagesRefused, ImageCPUShare: f.ImageCPUShare,
	}
	m.Sources = ds.SourceSamples(f.State)
	m.addStats(f.Loaders...)
	m.Wait = f.Wait
	return m
}

// valueError is an option that cannot be meant, for the trainer.
func valueError(err error) error {
	return &wire.Failure{Kind: wire.KindValue, Text: option.Spelled(err, option.Argument), RowGroup: -1, Step: -1}
}
