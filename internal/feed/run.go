package feed

import (
	"context"
	"errors"
	"reflect"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
)

// errNotWanted is why a run ends that nobody waits for any more; nobody is told.
var errNotWanted = errors.New("nobody wants the batches any more")

// A run is a loader and the goroutine that deals its batches out, for one iteration, or for one after the other: from a session's second
// epoch on the loader goes on into the next epoch, into the free slots of the same rings, before anybody asks for it.
type run struct {
	session *session
	goesOn  bool
	ctx     context.Context
	cancel  context.CancelCauseFunc
	done    chan struct{} // closed when all is freed
	next    chan *iteration

	// Guarded by the session's mutex.
	now     *iteration
	expects *shuffle.State // where the iteration begins that the run would go on with; nil while none would be taken

	// The loader's, which asks for one batch after the other: it begins batches of the next epoch before the last of this one were
	// dealt out.
	rings []*part // by the steps
	steps shuffle.Steps
	from  int64 // where the first step of the epoch begins
	begun int64 // batches of the epoch that have begun
	left  int64 // and that have not
}

// newRun makes a run of an iteration. The session's mutex is held.
func newRun(it *iteration, goesOn bool) *run {
	r := &run{session: it.session, goesOn: goesOn, done: make(chan struct{}), next: make(chan *iteration, 1), now: it}
	r.ctx, r.cancel = context.WithCancelCause(it.session.opened.ctx)
	it.begins(r)
	return r
}

// do makes the batches of the iteration and of those that follow it.
func (r *run) do() {
	r.session.opened.engine.settle(r)
	it := r.now
	err := r.iterate(it)
	for tries := 0; tries < 2 && r.shortOfShared(err); tries++ {
		if !r.session.opened.engine.makeRoom(r) {
			break
		}
		err = r.iterate(it)
	}
	if cause := context.Cause(r.ctx); cause != nil {
		err = cause
	}
	r.cancel(errNotWanted)
	if kind := kindOf(err); err != nil && (kind == KindData || kind == KindNotFound) {
		r.session.opened.forget() // who opens it anew is to see what there is now
	}
	it = r.finish(err)
	if err != nil && !errors.Is(err, errNotWanted) && !errors.Is(err, errGone) { // a trainer that goes in the midst is no failure of the engine's
		r.session.opened.engine.Logger.Error("iteration failed", "rank", r.session.rank, "epoch", it.state.Epoch, "error", err)
	}
}

// finish ends the run for its session and for the parts of its iteration, which it returns.
func (r *run) finish(err error) *iteration {
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == r {
		s.waiting = nil
	}
	if err != nil {
		r.now.give(err)
	}
	for _, p := range r.now.parts {
		p.unlink()
	}
	return r.now
}

// note tells the consumers of the run's iteration something.
func (r *run) note(n Note) {
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	r.now.note(n)
}

// shortOfShared reports whether an iteration could not begin because the engine's streams hold the memory that it needs.
func (r *run) shortOfShared(err error) bool {
	var over *mem.OverLimit
	return errors.As(err, &over) && over.Shared && r.ctx.Err() == nil
}

// iterate reads with one loader.
func (r *run) iterate(it *iteration) error {
	l, err := r.newLoader(it)
	if err != nil {
		return err
	}
	r.session.works(l)
	defer r.session.rests(l)
	defer l.Close() // its error counts the batches that were not released, and none is held
	it.announce()
	var n int64
	for b, err := range l.Batches(r.ctx) {
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

// newLoader makes a loader whose batches lie in the rings of the iteration's consumers.
func (r *run) newLoader(it *iteration) (*loader.Loader, error) {
	d := r.session.opened.data
	o := d.Loader
	o.Rank, o.WorldSize, o.Tail, o.BatchSize = r.session.rank, it.join.WorldSize, it.steps.Tail, r.session.batchSize()*it.bundle
	state := it.state
	state.GlobalBatch = it.steps.GlobalBatch // the same steps, in bundles: nothing that a user would want to read of
	o.State, o.Epoch, o.Epochs = &state, 0, 1
	if epoch, _, _ := epochOf(it.state, it.steps); epoch > it.state.Epoch {
		o.Epochs = int(epoch-it.state.Epoch) + 1
	}
	if r.goesOn {
		o.Epochs = -1
	}
	slots := slotsOf(d, len(it.order))
	need := ringNeed{slots: slots, bytes: r.session.slotBytes(it.bundle, it.steps.Tail), reserve: r.session.opened.engine.reserveRing}
	for _, p := range it.order {
		if err := p.connect(need); err != nil {
			return nil, err
		}
	}
	r.rings, r.steps, r.begun = it.order, it.steps, 0
	_, r.from, r.left = epochOf(it.state, it.steps)
	o.MaxBatches = slots * len(it.order)
	o.Allocator = r
	return loader.New(d.Dataset, o)
}

// Begin begins the next batch of the loader in the ring of the consumer that gets it.
func (r *run) Begin(ctx context.Context, size int) (loader.Memory, error) {
	if r.left == 0 {
		_, r.from, r.left = epochOf(shuffle.State{Position: r.steps.Next(r.from)}, r.steps)
		r.begun = 0
	}
	p := r.rings[r.begun%int64(len(r.rings))]
	r.begun++
	r.left--
	return p.memory(ctx, size, (*mem.Pool)(r.session.opened.data.Dataset.Pool()))
}

// after ends an iteration and waits for the next one, if the run goes on and it is asked for.
func (r *run) after(it *iteration) *iteration {
	r.end(it)
	if !r.goesOn {
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

// end tells the consumers the end of an iteration, after it let the run wait for the next: no JOIN comes before.
func (r *run) end(it *iteration) {
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.goesOn {
		expects := afterEpoch(it.state, it.steps)
		r.expects = &expects
		if s.waiting != nil {
			s.waiting.cancel(errNotWanted)
		}
		s.waiting = r
	}
	if !r.goesOn || s.closed {
		r.cancel(errNotWanted) // the next run waits for what this one holds
	}
	for _, p := range it.order {
		p.end(it.now)
	}
}

// adopts takes an iteration over, if it goes on where the run stands, with the same consumers in the same order. The session's mutex is
// held.
func (r *run) adopts(it *iteration) bool {
	if r.expects == nil || r.ctx.Err() != nil || !reflect.DeepEqual(*r.expects, it.state) || it.steps != r.now.steps ||
		it.join.WorldSize != r.now.join.WorldSize || len(it.order) != len(r.now.order) {
		return false
	}
	for i, p := range it.order {
		if p.client != r.now.order[i].client {
			return false
		}
	}
	for i, p := range it.order {
		p.takeOver(r.now.order[i])
	}
	it.begins(r)
	if r.ctx.Err() != nil {
		return false
	}
	r.now, r.expects = it, nil
	r.next <- it
	return true
}

// endsWith ends a run that waits behind an iteration whose consumers go. A nil run has not begun. The session's mutex is held.
func (r *run) endsWith(it *iteration) {
	if r != nil && r.now == it {
		r.cancel(errNotWanted)
	}
}

// ends gives up what was read ahead, and reports whether the run is ending.
func (r *run) ends() bool {
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	if r.expects != nil {
		r.cancel(errNotWanted)
	}
	return r.ctx.Err() != nil
}

// waitFor waits until another run has ended, or this one has to; it reports the former.
func (r *run) waitFor(other *run) bool {
	select {
	case <-other.done:
		return true
	case <-r.ctx.Done():
		return false
	}
}

// slotsOf is the slots of each of k rings: together what the loader keeps in flight, and some in each with the consumer.
func slotsOf(d *Data, k int) int {
	if d.Slots > 0 {
		return d.Slots
	}
	flight := d.Loader.Workers * max(d.Loader.PrefetchFactor, 2)
	if k == 1 {
		return flight + 4
	}
	return (flight+k-1)/k + 2
}

// slotBytes foretells the bytes of a slot: those of mean rows and a quarter. What batches take beyond is admitted by itself.
func (s *session) slotBytes(bundle int, tail shuffle.Tail) int64 {
	foretold := s.opened.data.Dataset.BatchBytes(s.batchSize()*bundle, tail)
	return foretold + foretold/4
}

// reserveRing admits bytes of rings that outgrow what was foretold, which is within the stream's reservation.
func (e *engine) reserveRing(bytes int64) (func(), error) {
	a, err := e.Budget.Reserve(0, mem.Amounts{mem.Ring: bytes})
	if err != nil {
		return nil, &iterable.MemoryError{Need: iterable.Amounts{mem.Ring: bytes}, Limit: e.Budget.Limit(), Err: err}
	}
	return a.Close, nil
}
