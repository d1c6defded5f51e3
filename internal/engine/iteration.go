package engine

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
)

// An iteration is one epoch of a session, or the rest of one after a state. One participant reads
// it, or K participants of torch workers, and the same number for each replica. It is created with
// the first participant and starts with the last. Any error is sent to each participant.
type iteration struct {
	session *session
	join    wire.Join     // of the first participant; the others agree with it
	state   shuffle.State // its start
	steps   shuffle.Steps // of the batches
	single  shuffle.Steps // of the data set's options: several of them are one of steps when the iteration is bundled
	bundle  int
	epoch   uint64 // whose batches it has
	from    int64  // position of the first
	count   int64  // batches

	announced bool // by the run's goroutine
	timer     *time.Timer
	notice    *time.Timer // for replicas

	order []*seat // by the steps: the n-th batch goes to the (n mod K)-th seat

	// Guarded by the session's mutex.
	number       int            // of the session's iterations
	participants []*participant // by worker, and for each by replica; nil until it has joined
	names        []string       // by replica: what its trainer calls the iteration; "" until it has joined
	before       *shuffle.State // session.next before the iteration
	asked        request        // of the first participant
	run          *run           // nil before the start
	now          shuffle.State  // after the last batch
	gone         int            // participants that have left
	over         bool           // its run makes no more batches

	dealt atomic.Int64 // batches
	bound atomic.Int64 // the position at which another rank has left the epoch, or 0
}

func newIteration(s *session, j wire.Join, state shuffle.State, steps shuffle.Steps) *iteration {
	n := bundleOf(j, state, steps.Tail, func(n int) int64 {
		return s.dataset.data.batchBytes(n*s.batchSize(), bundled(steps, n, j.WorldSize).Tail)
	})
	it := &iteration{
		session: s, join: j, state: state, steps: bundled(steps, n, j.WorldSize), single: steps, bundle: n, now: state,
		participants: make([]*participant, max(1, j.Workers)*j.ReplicaCount()), names: make([]string, j.ReplicaCount()),
	}
	switch o := &s.dataset.engine.Options; {
	case j.ReplicaCount() > 1:
		it.timer = time.AfterFunc(o.ReplicaTimeout, it.timeOut)
		it.notice = time.AfterFunc(o.ReplicaNotice, it.tellLate)
	case j.Workers > 1:
		it.timer = time.AfterFunc(o.WorkerTimeout, it.timeOut)
	}
	return it
}

// add adds a worker's participant. The session's mutex is held.
func (it *iteration) add(p *participant) error {
	j, first := p.join, it.join
	if j.Workers != first.Workers || j.WorldSize != first.WorldSize {
		return wire.ValueError("worker %d joins as one of %d in a world of %d, others of the same iteration as one of %d in a world of %d",
			j.Worker, j.Workers, j.WorldSize, first.Workers, first.WorldSize)
	}
	if !slices.Equal(j.Seats, first.Seats) {
		return wire.ValueError("worker %d and replica %d join with other seats than others of the same iteration", j.Worker, j.Replica)
	}
	if (j.ImageCPUShare == nil) != (first.ImageCPUShare == nil) {
		return wire.ValueError("worker %d and replica %d do not agree with others of the same iteration whether a device decodes images", j.Worker, j.Replica)
	}
	p.iteration = it
	it.participants[j.Place()] = p
	it.names[j.Replica] = j.Iteration
	return nil
}

// complete reports whether all workers have joined. The session's mutex is held.
func (it *iteration) complete() bool { return !slices.Contains(it.participants, nil) }

func (it *iteration) stop() {
	if it.timer != nil {
		it.timer.Stop()
	}
	if it.notice != nil {
		it.notice.Stop()
	}
}

func (it *iteration) timeOut() {
	s := it.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forming[it.join.Iteration] != it {
		return
	}
	delete(s.forming, it.join.Iteration)
	it.fail(it.late())
}

// lateReplicas returns the replicas that have not joined, in words. The session's mutex is held.
func (it *iteration) lateReplicas() string {
	var late []string
	for i, name := range it.names {
		if name == "" {
			late = append(late, fmt.Sprint(i))
		}
	}
	return strings.Join(late, ", ")
}

// tellLate reports the missing replicas to the others.
func (it *iteration) tellLate() {
	s := it.session
	s.mu.Lock()
	defer s.mu.Unlock()
	late := it.lateReplicas()
	if s.forming[it.join.Iteration] != it || late == "" {
		return
	}
	note := wire.Note{Level: "warning", Text: fmt.Sprintf("after %v the iteration still waits for %s of the %d replicas of rank %d: %s",
		s.dataset.engine.ReplicaNotice, late, len(it.names), s.rank, replicasHint)}
	for _, p := range it.participants {
		if p != nil {
			p.call(func(c consumer) { c.note(note) })
		}
	}
}

const replicasHint = "replicas take the same batches: iterate on all of them, or give a process that reads alone a data set of its own, with rank=0, world_size=1"

// late says who has not joined. The session's mutex is held.
func (it *iteration) late() error {
	o := &it.session.dataset.engine.Options
	if replicas := it.lateReplicas(); replicas != "" {
		return wire.NewFailure(wire.KindTimeout, "of the %d replicas of rank %d on this machine, %s have not begun to iterate within %v", len(it.names),
			it.session.rank, replicas, o.ReplicaTimeout).With(replicasHint)
	}
	var workers []string
	for k, p := range it.participants {
		if p == nil {
			workers = append(workers, fmt.Sprint(k/len(it.names)))
		}
	}
	return wire.TimeoutError("torch workers %s of %d have not begun to iterate within %v", strings.Join(slices.Compact(workers), ", "),
		len(it.participants)/len(it.names), o.WorkerTimeout)
}

// fail fails all participants. The session's mutex is held.
func (it *iteration) fail(err error) {
	it.stop()
	for _, p := range it.participants {
		if p != nil {
			p.fail(err)
		}
	}
}

// schema returns the schema of the batches.
func (it *iteration) schema() []wire.Node {
	return it.session.dataset.data.nodes(it.wanted())
}

// wanted returns the share of the images that the engine shall decode, or nil. The first participant
// decides it for all. The iteration is complete.
func (it *iteration) wanted() *float64 { return it.participants[0].join.ImageCPUShare }

// divide sets the share of the images that the run decodes. The session's mutex is held.
func (it *iteration) divide(share float64) {
	if r := it.run; r != nil && r.split != nil {
		r.split.SetShare(share)
	}
}

// share returns the share of the images that the run decodes now, or nil. The session's mutex is
// held.
func (it *iteration) share() *float64 {
	if it == nil || it.run == nil || it.run.split == nil {
		return nil
	}
	share := it.run.split.Share()
	return &share
}

// outputs is how many batches the results of the trainers' workers count as.
func (it *iteration) outputs() int { return it.join.Outputs * len(it.names) }

// following returns the epoch of the next iteration.
func (it *iteration) following() uint64 {
	epoch, _, _ := epochOf(afterEpoch(it.state, it.steps), it.steps)
	return epoch
}

// seat makes a seat of each worker's participants, who are replicas.
func (it *iteration) seat() {
	for some := range slices.Chunk(it.participants, len(it.names)) {
		seat := &seat{session: it.session, replicas: some}
		for _, p := range some {
			p.seat = seat
		}
		it.order = append(it.order, seat)
	}
}

// arrange orders the seats by their next steps, which must be consecutive.
func (it *iteration) arrange() error {
	it.seat()
	global := it.steps.GlobalBatch
	next := func(p *participant) int64 {
		if p.join.Next != nil {
			return *p.join.Next
		}
		return it.state.Position + int64(p.join.Worker)*global
	}
	first, err := it.inTurn(next)
	if err != nil {
		return err
	}
	if first < 0 && it.steps.Tail != shuffle.Carry {
		return wire.ValueError("position %d is below 0", first)
	}
	it.state.Epoch, it.state.Position = it.single.Normalize(it.state.Epoch, first)
	it.state.Position = it.single.Begin(it.state.Position)
	it.now = it.state
	it.epoch, it.from, it.count = epochOf(it.state, it.steps)
	for _, seat := range it.order {
		if it.epoch != it.state.Epoch { // no steps of the workers' own epoch are left
			seat.skips = 0
		}
	}
	return nil
}

// inTurn sorts the seats by their turns from the first step on that a worker has left, and returns
// its position. A worker whose next step is later skips its turns until then: loaders that make
// batches of single rows take several steps of a worker in a row.
func (it *iteration) inTurn(next func(*participant) int64) (first int64, err error) {
	slices.SortFunc(it.order, func(a, b *seat) int { return cmp.Compare(next(a.first()), next(b.first())) })
	first = next(it.order[0].first())
	apart := it.steps.GlobalBatch
	round := apart * int64(len(it.order))
	if s := it.join.State; s != nil && s.GlobalBatch != apart && len(it.order) > 1 && next(it.order[1].first())-first == s.GlobalBatch {
		apart, round = s.GlobalBatch, math.MaxInt64 // saved at another world size: all rows before the first are taken, and no row after
	}
	turn := func(s *seat) int64 { return (next(s.first()) - first) % round }
	slices.SortFunc(it.order, func(a, b *seat) int { return cmp.Compare(turn(a), turn(b)) })
	for i, seat := range it.order {
		seat.skips = (next(seat.first()) - first) / round
		for _, p := range seat.replicas {
			if turn(seat) != int64(i)*apart || next(p) != next(seat.first()) {
				return 0, wire.NewFailure(wire.KindState, "the torch workers resume at steps that are not consecutive: worker %d at position %d, expected %d",
					p.join.Worker, next(p), first+int64(i)*apart).With("load states that were saved together, with as many workers and ranks")
			}
		}
	}
	return first, nil
}

// begins sets the run that reads the iteration. The caller holds the session's mutex.
func (it *iteration) begins(r *run) {
	it.run = r
	it.session.latest = it
	if it.gone == len(it.participants) {
		r.cancel(errNotWanted)
	}
}

// deal hands a batch to the seat whose turn it is.
func (it *iteration) deal(to *seat, b *loader.Batch) error {
	it.dealt.Add(1)
	if most := it.bound.Load(); most != 0 && it.reached() > most {
		others, err := it.session.dataset.engine.agreed.overtaken(it)
		abortAll(others, err)
		if err != nil {
			b.Release()
			return err
		}
	}
	if it.single.Part() {
		b.State.Epoch, b.State.Position = it.single.Normalize(b.State.Epoch, b.State.Position)
	}
	s := it.session
	s.mu.Lock()
	defer s.mu.Unlock()
	it.now = b.State
	if to.skips > 0 {
		to.skips--
		b.Release()
		return nil
	}
	s.dealt(b)
	return to.deliver(b)
}

// reached returns the position behind the last batch. It passes the end of the epoch.
func (it *iteration) reached() int64 { return it.from + it.dealt.Load()*it.steps.GlobalBatch }

// slack returns by how many rows ranks may seem apart that take the same batches: what waits in
// rings, for torch workers, and on devices.
func (it *iteration) slack() int64 {
	k := len(it.order)
	data := it.session.dataset.data
	batches := k*slotsOf(data, data.Loader.Workers, k) + copiedAhead
	if k > 1 {
		batches += workersAhead * k
	}
	return int64(batches) * it.steps.GlobalBatch
}

// maxOutputs bounds the batches that a trainer's workers may hold results of.
const maxOutputs = 1 << 16

const (
	copiedAhead  = 4 // batches, to a device
	workersAhead = 4 // batches of each torch worker
)

// left counts a participant that has left. The last one ends the run. The session's mutex is held.
func (it *iteration) left() {
	it.gone++
	if it.gone == len(it.participants) && it.run != nil {
		it.run.cancel(errNotWanted)
	}
}

// disconnected handles the end of a participant's connection. In the middle of an iteration of
// several workers it fails the others. After the iteration it ends the run that reads ahead. The
// session's mutex is held.
func (it *iteration) disconnected(p *participant, inMidst bool) {
	if !inMidst {
		it.run.endAfter(it)
		return
	}
	it.left()
	if len(it.participants) == 1 {
		return
	}
	who := fmt.Sprintf("torch worker %d of %d", p.join.Worker, max(1, p.join.Workers))
	if n := len(it.names); n > 1 {
		who = fmt.Sprintf("replica %d of %d of rank %d", p.join.Replica, n, it.session.rank)
	}
	err := wire.NewFailure(wire.KindInternal, "%s (process %d) ended within the epoch", who, p.client.hello.PID).
		With("its own error says why; a process that was killed may have run out of memory")
	if it.session.forming[it.join.Iteration] == it {
		delete(it.session.forming, it.join.Iteration)
	}
	it.fail(err)
	if it.run != nil {
		it.run.cancel(err)
	}
}
