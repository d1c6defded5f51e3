package engine

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/loads"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
)

// errNotWanted ends a run that has no consumer any more. It is reported to no one.
var errNotWanted = errors.New("the batches have no consumer any more")

// A run is a loader and the goroutine that deals out its batches, for one iteration or several in a
// row: the loader reads the next epoch, and no later one, ahead into the free slots of the same
// rings.
type run struct {
	session   *session
	continues bool
	workers   int                // of the loader
	outputs   int                // batches that are reserved for results of the trainers' workers
	split     *loader.ImageSplit // nil: the trainers get all images as tensors
	ctx       context.Context
	cancel    context.CancelCauseFunc
	done      chan struct{} // closed when all is freed
	next      chan *iteration
	horizon   *iterable.Horizon // the epoch of the next iteration

	// Guarded by the session's mutex.
	now     *iteration
	expects *shuffle.State // the required start of the next iteration, or nil if the run takes no other now

	// Used by the loader, which asks for the memory of one batch at a time. It starts batches of
	// the next epoch before the last ones of this epoch are dealt.
	rings []*seat // by the steps
	steps shuffle.Steps
	from  int64 // the first step of the epoch
	begun int64 // batches of the epoch that have begun
	left  int64 // and that have not
}

// newRun returns a run of an iteration. The session's mutex is held.
func newRun(it *iteration) *run {
	r := &run{
		session: it.session, continues: !it.single.Part(), workers: it.session.dataset.data.Loader.Workers, outputs: it.outputs(),
		done: make(chan struct{}), next: make(chan *iteration, 1), now: it, split: newSplit(it.wanted()), horizon: iterable.NewHorizon(it.following()),
	}
	r.ctx, r.cancel = context.WithCancelCause(it.session.dataset.ctx)
	it.begins(r)
	return r
}

// do makes the batches of the iteration and of those after it.
func (r *run) do() {
	e := r.session.dataset.engine
	e.settle(r)
	it, ended := r.now, e.endedRuns()
	err := r.iterate(it)
	for freed := 0; r.ctx.Err() == nil && it.dealt.Load() == 0; ended, err = e.endedRuns(), r.iterate(it) { // rows that were dealt must not come again
		var over *mem.OverLimit
		if !errors.As(err, &over) {
			break
		}
		if over.Shared { // other streams hold the memory
			if freed++; freed > 2 || !e.freeMemory(r, ended) {
				break
			}
		} else if r.workers /= 2; r.workers == 0 || !r.session.dataset.data.FewerWorkers {
			break
		}
	}
	if cause := context.Cause(r.ctx); cause != nil {
		err = cause
	}
	r.cancel(errNotWanted)
	if kind := wire.KindOf(err); err != nil && (kind == wire.KindData || kind == wire.KindNotFound) {
		r.session.dataset.forget() // the next client lists the shards again
	}
	it = r.finish(err)
	if err != nil && !errors.Is(err, errNotWanted) && !errors.Is(err, errGone) { // the end of a trainer is not a failure
		r.session.dataset.engine.Logger.Error("iteration failed", "rank", r.session.rank, "epoch", it.state.Epoch, "error", err)
	}
}

// finish removes the run from its session, frees the rings of its iteration and, with an error,
// fails its participants. It returns the iteration.
func (r *run) finish(err error) *iteration {
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == r {
		s.waiting = nil
	}
	if err != nil {
		r.now.fail(err)
	}
	for _, seat := range r.now.order {
		seat.unlink()
	}
	r.now.over = true
	return r.now
}

func (r *run) note(n wire.Note) {
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	for _, p := range r.now.participants {
		p.call(func(c consumer) { c.note(n) })
	}
}

// iterate reads with one loader, from an iteration on.
func (r *run) iterate(it *iteration) error {
	l, err := r.newLoader(it)
	if err != nil {
		return err
	}
	defer r.session.works(l)()
	defer l.Close() // its error counts unreleased batches, which cannot exist
	it.announce()
	defer r.explain(l)()
	d, state := r.session.dataset, it.state
	d.engine.owned.Go(func() { d.audits.prepare(d.ctx, d.data.Dataset, state) })
	var n int64
	recorder := d.engine.loads.Recorder(loads.Rank{Dataset: r.session.object, Rank: r.session.rank})
	for b, err := range l.Batches(loads.With(r.ctx, recorder)) {
		if err != nil {
			return err
		}
		if err := it.deal(it.order[n%int64(len(it.order))], b); err != nil {
			return err
		}
		if n++; n < it.count {
			continue
		}
		if n, it = 0, r.after(it); it == nil {
			return nil
		}
	}
	return nil
}

// explainEvery is how often trainers that wait hear what holds up their batch.
const explainEvery = time.Second

// explain sends the trainers that wait for a batch what holds it up, until stop, which waits for its
// goroutine.
func (r *run) explain(l *loader.Loader) (stop func()) {
	ctx, cancel := context.WithCancel(r.ctx)
	var owned sync.WaitGroup
	owned.Go(func() {
		tick := time.NewTicker(explainEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				r.explainNow(l)
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		owned.Wait()
	}
}

// explainNow holds the session's mutex, so that no batch is announced meanwhile.
func (r *run) explainNow(l *loader.Loader) {
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	held := wire.HeldBy(l.HeldUp())
	for _, p := range r.now.participants {
		p.call(func(c consumer) { c.held(held) })
	}
}

// newLoader returns a loader with its batches in the rings of the iteration's consumers.
func (r *run) newLoader(it *iteration) (*loader.Loader, error) {
	d := r.session.dataset.data
	o := d.Loader
	o.Rank, o.WorldSize, o.Tail, o.BatchSize = r.session.rank, it.join.WorldSize, it.steps.Tail, r.session.batchSize()*it.bundle
	o.LocalWorldSize = r.session.localRanks(it.join)
	if len(it.join.Seats) > 0 {
		o.Seats = it.join.Seats
	}
	state := it.state
	state.GlobalBatch = it.steps.GlobalBatch // the same steps in bundles: not a change worth a note
	o.State, o.Epoch, o.Epochs = &state, 0, 1
	if it.epoch > it.state.Epoch {
		o.Epochs = int(it.epoch-it.state.Epoch) + 1
	}
	if r.continues {
		o.Epochs = -1
	}
	o.Hashes, o.ImageSplit = it.bundle > 1, r.split
	slots := slotsOf(d, r.workers, len(it.order))
	need := ringNeed{bytes: slotBytes(d, o, it.schema())}
	if d.Slots == 0 {
		slots = loader.BatchesWithin(slots, need.bytes*int64(len(it.order)), d.Dataset.Memory())
	}
	need.slots, need.first, o.Workers = slots, firstSlots(d, r.workers), max(1, min(r.workers, slots*len(it.order)-1))
	for _, seat := range it.order {
		if err := seat.connect(need); err != nil {
			return nil, err
		}
	}
	r.rings, r.steps, r.begun, r.from, r.left = it.order, it.steps, 0, it.from, it.count
	o.MaxBatches = slots*len(it.order) + r.outputs
	o.Allocator, o.Horizon = r, r.horizon
	return loader.New(d.Dataset, o)
}

// Use makes the rings and results of workers keep to the account of the loader's stream.
func (r *run) Use(a *iterable.Account) {
	for _, seat := range r.rings {
		seat.use(a)
	}
	r.session.outputs.use((*mem.Account)(a))
}

// Begin returns a slot in the ring of the consumer that will get the loader's next batch.
func (r *run) Begin(ctx context.Context, size int) (loader.Memory, error) {
	if r.left == 0 {
		_, r.from, r.left = epochOf(shuffle.State{Position: r.steps.Next(r.from)}, r.steps)
		r.begun = 0
	}
	seat := r.rings[r.begun%int64(len(r.rings))]
	r.begun++
	r.left--
	return seat.memory(ctx, size, (*mem.Pool)(r.session.dataset.data.Dataset.Pool()))
}

// after ends an iteration. If the run continues it returns the next iteration, which it waits for.
func (r *run) after(it *iteration) *iteration {
	r.end(it)
	if !r.continues {
		return nil
	}
	select {
	case it = <-r.next:
	case <-r.ctx.Done():
		return nil
	}
	it.announce()
	return it
}

// end reports the end of an iteration to the consumers. The run is ready for the next iteration
// before that, so no JOIN comes too early.
func (r *run) end(it *iteration) {
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.continues {
		expects := afterEpoch(it.state, it.steps)
		r.expects = &expects
		if s.waiting != nil {
			s.waiting.cancel(errNotWanted)
		}
		s.waiting = r
	}
	if !r.continues || s.closed {
		r.cancel(errNotWanted) // the next run waits for what this one holds
	}
	it.over = true
	for _, p := range it.participants {
		p.end(it.now)
	}
}

// adopt takes over an iteration that starts at the run's position, with the same consumers in the
// same order. It reports whether it did. The session's mutex is held.
func (r *run) adopt(it *iteration) bool {
	if r.expects == nil || r.ctx.Err() != nil || !reflect.DeepEqual(*r.expects, it.state) || it.steps != r.now.steps || !divides(r.split, it.wanted()) ||
		it.join.WorldSize != r.now.join.WorldSize || !slices.Equal(it.join.Seats, r.now.join.Seats) || len(it.order) != len(r.now.order) || it.outputs() > r.outputs {
		return false
	}
	for i, seat := range it.order {
		if !sameClients(seat, r.now.order[i]) {
			return false
		}
	}
	for i, seat := range it.order {
		seat.takeOver(r.now.order[i])
	}
	it.begins(r)
	if r.ctx.Err() != nil {
		return false
	}
	r.now, r.expects = it, nil
	r.horizon.Move(it.following())
	r.next <- it
	return true
}

// endAfter ends a run that reads ahead of the next iteration, when the consumers of the last one
// have gone. A nil run has not begun. The session's mutex is held.
func (r *run) endAfter(it *iteration) {
	if r != nil && r.now == it {
		r.cancel(errNotWanted)
	}
}

// giveUp ends a run that only reads ahead, and reports whether the run is ending.
func (r *run) giveUp() bool {
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	if r.expects != nil {
		r.cancel(errNotWanted)
	}
	return r.ctx.Err() != nil
}

// waitFor waits until another run has ended. It reports false when this run has to end first.
func (r *run) waitFor(other *run) bool {
	select {
	case <-other.done:
		return true
	case <-r.ctx.Done():
		return false
	}
}

// slotsOf returns the slots of each of k rings: what the loader keeps in flight, and some more.
func slotsOf(d *Data, workers, k int) int {
	if d.Slots > 0 {
		return d.Slots
	}
	flight := workers * max(d.Loader.PrefetchFactor, 2)
	if k == 1 {
		return flight + trainersSlots
	}
	return (flight+k-1)/k + 2
}

const (
	trainersSlots = 4 // with a trainer: in a step, and on the way to a device
	readySlots    = 2
)

// firstSlots returns how many slots of a ring are used at first, or 0 for all that were asked for:
// for the trainer, for batches that are ready, and for batches in the making. All goroutines decode
// the images of one batch, and of the next when few of its rows are left.
func firstSlots(d *Data, workers int) int {
	if d.Slots > 0 {
		return 0
	}
	making := workers
	if len(d.Loader.Images) > 0 {
		lenses, rows := max(workers, d.Loader.ImageParallel), max(1, d.Loader.BatchSize)
		making = min(workers, 2+lenses/rows)
	}
	return trainersSlots + readySlots + making
}

// slotBytes returns the bytes of a slot: exactly what a batch takes at most, or an estimate of mean
// rows plus a quarter if that depends on the rows.
func slotBytes(d *Data, o loader.Options, schema []wire.Node) int64 {
	if bound := loader.BatchBound(d.Dataset, o); bound > 0 {
		return bound + slotRest(schema, o.BatchSize, o.Hashes)
	}
	foretold := loader.BatchBytes(d.Dataset, o)
	return foretold + foretold/4
}

// batchBytes estimates the memory of a batch of rows.
func (d *Data) batchBytes(rows int, tail shuffle.Tail) int64 {
	how := d.Loader
	how.BatchSize, how.Tail = rows, tail
	return loader.BatchBytes(d.Dataset, how)
}
