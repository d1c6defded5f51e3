package feed

import (
	"context"
	"errors"
	"reflect"
	"sync"

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

	mu      sync.Mutex
	now     *iteration
	expects *shuffle.State // where the iteration begins that the run would go on with; nil while none would be taken
}

func newRun(it *iteration, goesOn bool) *run {
	r := &run{session: it.session, goesOn: goesOn, done: make(chan struct{}), next: make(chan *iteration, 1), now: it}
	r.ctx, r.cancel = context.WithCancelCause(it.session.opened.ctx)
	it.begins(r)
	return r
}

// do makes the batches of the iteration and of those that follow it.
func (r *run) do() {
	r.session.opened.engine.settle(r)
	err := r.iterate()
	for tries := 0; tries < 2 && r.shortOfShared(err); tries++ {
		if !r.session.opened.engine.makeRoom(r) {
			break
		}
		err = r.iterate()
	}
	if cause := context.Cause(r.ctx); cause != nil {
		err = cause
	}
	r.cancel(errNotWanted)
	r.session.drop(r)
	it := r.current()
	if kind := kindOf(err); err != nil && (kind == KindData || kind == KindNotFound) {
		r.session.opened.forget() // who opens it anew is to see what there is now
	}
	if err != nil && !errors.Is(err, errNotWanted) && !errors.Is(err, errGone) { // a trainer that goes in the midst is no failure of the engine's
		r.session.opened.engine.Logger.Error("iteration failed", "rank", r.session.rank, "epoch", it.state.Epoch, "error", err)
	}
	if err != nil {
		it.give(err)
	}
	for _, p := range it.parts {
		p.unlink()
	}
}

// current is the iteration that the run is at.
func (r *run) current() *iteration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// shortOfShared reports whether an iteration could not begin because the engine's streams hold the memory that it needs.
func (r *run) shortOfShared(err error) bool {
	var over *mem.OverLimit
	return errors.As(err, &over) && over.Shared && r.ctx.Err() == nil
}

// iterate reads with one loader.
func (r *run) iterate() error {
	it := r.now
	l, err := r.newLoader(it)
	if err != nil {
		return err
	}
	defer r.session.figures.ends(l)
	defer l.Close() // its error counts the batches that were not released, and none is held
	it.announce()
	var n int64
	for b, err := range l.Batches(r.ctx) {
		if err != nil {
			return err
		}
		r.session.figures.batch(b)
		if rank := it.at(b.State); rank >= 0 {
			if err := r.session.opened.engine.agreed.overtaken(it, rank); err != nil {
				b.Release()
				return err
			}
		}
		p := it.order[n%int64(len(it.order))]
		if err := p.deliver(b); err != nil {
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
	var links []*link
	for _, p := range it.order {
		l, err := p.connect(need)
		if err != nil {
			return nil, err
		}
		links = append(links, l)
	}
	o.MaxBatches = slots * len(it.order)
	o.Allocator = newRouter(it, links, unseen{(*mem.Pool)(d.Dataset.Pool())})
	l, err := loader.New(d.Dataset, o)
	if err == nil {
		r.session.figures.begins(l)
	}
	return l, err
}

// after ends an iteration and waits for the next one, if the run goes on and it is asked for.
func (r *run) after(it *iteration) *iteration {
	end := it.whereabouts()
	expects := afterEpoch(it.state, it.steps)
	if r.goesOn {
		r.session.keep(r, &expects)
	} else {
		r.cancel(errNotWanted) // the next run waits for what this one holds
	}
	for _, p := range it.order {
		p.end(end)
	}
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

// keep lets a run wait for the next iteration. It is called before the consumers are told the end, so that no JOIN comes before.
func (s *session) keep(r *run, expects *shuffle.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.mu.Lock()
	r.expects = expects
	r.mu.Unlock()
	if s.waiting != nil {
		s.waiting.cancel(errNotWanted)
	}
	if s.waiting = r; s.closed {
		r.cancel(errNotWanted)
	}
}

// drop forgets a run that has ended.
func (s *session) drop(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == r {
		s.waiting = nil
	}
}

// adopts takes an iteration over, if it goes on where the run stands, with the same consumers in the same order. The session's mutex is held.
func (r *run) adopts(it *iteration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.expects == nil || r.ctx.Err() != nil || !reflect.DeepEqual(*r.expects, it.state) || it.steps != r.now.steps ||
		it.join.WorldSize != r.now.join.WorldSize || len(it.order) != len(r.now.order) {
		return false
	}
	for i, p := range it.order {
		if p.seat != r.now.order[i].seat {
			return false
		}
	}
	for i, p := range it.order {
		p.relink(r.now.order[i])
	}
	it.begins(r)
	if r.ctx.Err() != nil {
		return false
	}
	r.now, r.expects = it, nil
	r.next <- it
	return true
}

// endsWith ends a run that waits behind an iteration whose consumers go.
func (r *run) endsWith(it *iteration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now == it {
		r.cancel(errNotWanted)
	}
}

// ends gives up what was read ahead, and reports whether the run is ending.
func (r *run) ends() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
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
