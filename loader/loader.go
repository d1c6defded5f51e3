package loader

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/shardfeed/shardfeed/internal/iteration"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A Loader makes batches of a data set. Its methods are safe for concurrent use.
type Loader struct {
	o      Options
	recipe *recipe
	length int64
	pool   *mem.Pool
	places chan struct{} // of the default allocator, one for each batch that exists
	images imageNeed
	owner  *owner
	meters *meters

	// open starts a stream after a state, or at an epoch if state is nil.
	open func(ctx context.Context, epoch int, state *shuffle.State) (rowStream, *mem.Account, error)

	loop iteration.Loop[*pass, *Batch]
}

// New checks the options, their State included, against the data set. It reads nothing; the data
// set must stay open until Close.
func New(ds *iterable.Dataset, o Options) (*Loader, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.defaultsWithin(ds)
	if ds.Buckets() && o.BatchSize > 1 {
		return nil, newProblem("BatchSize", option.Sprintf("must be 1 with {Bucket}, whose samples are batches, got %d", o.BatchSize))
	}
	r, err := newRecipe(ds.BatchSchema(), o)
	if err != nil {
		return nil, err
	}
	r.buckets, r.placeOf, r.keys, r.onError = ds.Buckets(), ds.Locate, ds.RowKeys(), ds.OnError()
	need, err := r.imageNeed(o.lenses(), ds.Memory())
	if err != nil {
		return nil, err
	}
	length, err := ds.Len(o.BatchSize, o.WorldSize, o.Tail)
	if err != nil {
		return nil, err
	}
	wider := r.wider(ds)
	var stacks *rowgroup.Stacks
	if r.packed == nil && !r.buckets {
		stacks = r.shape.stacks(ds.Manifest().Schema())
	}
	if o.State != nil {
		if _, err := ds.Start(o.WorldSize, o.stream()); err != nil {
			return nil, err
		}
	}
	if o.Rank == 0 && o.State == nil {
		ds.WarnOfMixing(o.WorldSize, o.stream())
	}
	l := &Loader{
		o: o, recipe: r, length: length, pool: (*mem.Pool)(ds.Pool()), places: make(chan struct{}, o.MaxBatches), owner: &owner{}, meters: &meters{}, images: need,
		loop: iteration.Loop[*pass, *Batch]{Closed: ErrClosed, Busy: ErrBusy},
	}
	l.open = func(ctx context.Context, epoch int, state *shuffle.State) (rowStream, *mem.Account, error) {
		so := o.stream()
		so.Epoch, so.State, so.Wider, so.Stacks = epoch, state, wider, stacks
		so.Scratch, so.MoreScratch = need.least, need.more
		s, err := ds.Stream(ctx, shuffle.Worker{Rank: o.Rank, WorldSize: o.WorldSize}, so)
		if err != nil {
			return nil, nil, err // not a stream that is not nil
		}
		return s, (*mem.Account)(s.Account()), nil
	}
	l.loop.Resume(o.State)
	return l, nil
}

// Plan predicts what a loader with these options would read, hold and mix.
func Plan(ds *iterable.Dataset, o Options) (*iterable.Plan, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.defaultsWithin(ds)
	so := o.stream()
	if r, err := newRecipe(ds.BatchSchema(), o); err == nil {
		need, err := r.imageNeed(o.lenses(), ds.Memory())
		if err != nil {
			return nil, err
		}
		so.Wider, so.Scratch, so.MoreScratch = r.wider(ds), need.least, need.more
	}
	return ds.Plan(o.WorldSize, so)
}

// defaultsWithin is withDefaults with as many batches as leave room in the memory, and workers for
// these.
func (o Options) defaultsWithin(ds *iterable.Dataset) Options {
	given := o.MaxBatches
	if o = o.withDefaults(); given == 0 {
		o.MaxBatches = BatchesWithin(o.MaxBatches, BatchBytes(ds, o), ds.Memory())
		o.Workers = min(o.Workers, o.MaxBatches-1)
	}
	return o
}

const (
	leastBatches = 2 // one with the consumer, and one that it waits for
	readyBatches = 3 // and one that is made meanwhile
)

// BatchesWithin returns how many of n batches fit half of the memory, or three quarters where these
// are few, but at least 2. A memory of 0 is unlimited.
func BatchesWithin(n int, batchBytes, memory int64) int {
	if memory <= 0 || batchBytes <= 0 {
		return n
	}
	few := min(readyBatches, memory*3/4/batchBytes)
	return min(n, int(max(leastBatches, few, min(int64(n), memory/2/batchBytes))))
}

// stream are the options of the loader's stream; o has its defaults.
func (o Options) stream() iterable.StreamOptions {
	return iterable.StreamOptions{
		BatchSize: o.BatchSize, Tail: o.Tail, Epoch: o.Epoch, Epochs: o.Epochs, UntilEpoch: o.UntilEpoch, State: o.State,
		LocalWorldSize: o.LocalWorldSize, Seats: o.Seats, Horizon: o.Horizon, Draws: o.Workers + 1, Batches: o.MaxBatches, Copied: len(o.Images) > 0, Hashes: o.Hashes,
	}
}

// BatchBytes predicts the memory of a batch of a loader with these options.
func BatchBytes(ds *iterable.Dataset, o Options) int64 {
	o = o.withDefaults()
	return ds.BatchBytes(o.BatchSize, o.Tail, o.wider(ds))
}

// wider returns how many bytes larger a row of batches is than a row of the data, or 0 if unknown
// because the features do not fit the data.
func (o Options) wider(ds *iterable.Dataset) int64 {
	r, err := newRecipe(ds.BatchSchema(), o)
	if err != nil {
		return 0
	}
	return r.wider(ds)
}

func (r *recipe) wider(ds *iterable.Dataset) int64 {
	return max(0, r.shape.wider(ds.Manifest())-r.filesBytes(ds.Manifests())) + r.packed.wider()
}

// Len is the number of batches of a whole epoch, the same on every rank.
func (l *Loader) Len() int64 { return l.length }

// Batches iterates over Options.Epochs epochs. It starts after the last batch handed out before: at
// Options.Epoch or State the first time, in the middle of an epoch after an iteration that was left
// early, else with the next epoch.
//
// Each batch belongs to the consumer until its Release, which may come after the iteration and in
// any order. An error is the last element; it names the step it happened at. Leaving the loop, in
// whatever way, ends all goroutines and frees all memory except batches that are not released.
func (l *Loader) Batches(ctx context.Context) iter.Seq2[*Batch, error] {
	return l.loop.Batches(func(after *shuffle.State) (*pass, error) { return l.begin(ctx, after) })
}

// begin opens a stream and starts a pass over it.
func (l *Loader) begin(ctx context.Context, after *shuffle.State) (*pass, error) {
	s, account, err := l.open(ctx, l.o.Epoch, after)
	if err != nil {
		return nil, err
	}
	p := &pass{
		recipe: l.recipe, meters: l.meters, owner: l.owner, stream: s, allocator: l.o.Allocator, timeout: l.o.Timeout,
		unordered: l.o.Unordered, imaging: l.recipe.newImaging(l.images, account),
	}
	if p.allocator == nil {
		p.allocator = newPooled(l.pool, l.places, account)
	} else if a, ok := p.allocator.(Accountant); ok {
		a.Use((*iterable.Account)(account))
	}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	p.start(l.o.Workers, l.o.PrefetchFactor, l.pool)
	return p, nil
}

// State returns the state that resumes after the last batch handed out; it is nil before the first,
// unless the options gave one. If batches come out of order it is the state after the longest run
// of steps that were all handed out, so that a resumed run may repeat batches but misses no batch.
func (l *Loader) State() *shuffle.State { return l.loop.State() }

// Resume makes the next iteration start after a state, or as the options say if state is nil: for a
// consumer that lost batches handed out to it.
func (l *Loader) Resume(state *shuffle.State) { l.loop.Resume(state) }

// Lose counts a row that the consumer found damaged in a batch, which was handed out: an
// [ImageMender]'s loss. The error is about too many losses in the iteration under way.
func (l *Loader) Lose(epoch, step int64, x iterable.Loss) error {
	l.meters.lost.Add(1)
	if p := l.loop.Pass(); p != nil {
		return p.loseRow(epoch, step, x)
	}
	return nil
}

// Stats returns the work done since New; Stream covers the current iteration, or else the last.
func (l *Loader) Stats() Stats {
	m, t := l.meters, &l.recipe.times
	s := Stats{
		Batches: m.batches.Load(), Rows: m.rows.Load(), Lost: m.lost.Load(), Held: int(l.owner.held.Load()), Wait: m.wait.parts(),
		Draws: m.draws.queue(0, 0), Memory: m.memory.queue(len(l.places), 0), Work: m.work.queue(0, 0),
		Ready:  m.ready.queue(int(m.depth.Load()), l.o.Workers*l.o.PrefetchFactor),
		Images: time.Duration(t[stageImages].Load()), Gather: time.Duration(t[stageGather].Load()), Pad: time.Duration(t[stagePad].Load()),
		Transform: time.Duration(t[stageTransform].Load()), OnDevice: l.recipe.onDevice.Load(), Decoded: l.recipe.decoded.Load(),
	}
	if l.o.Allocator == nil {
		s.Memory.Cap = l.o.MaxBatches
	}
	if p := l.loop.Pass(); p != nil {
		s.Stream = p.stream.Stats()
	} else if last := m.last.Load(); last != nil {
		s.Stream = *last
	}
	return s
}

// Close ends a running iteration, whose consumer gets ErrClosed, and waits for its goroutines.
// Batches that were handed out stay valid until their Release; the error counts them. Close may be
// called more than once.
func (l *Loader) Close() error {
	first, err := l.loop.Close()
	if !first {
		return nil
	}
	if n := l.owner.held.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("loader: closed with %d batches not released", n))
	}
	return err
}
