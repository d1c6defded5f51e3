package engine

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A session counts the epochs of one rank of a data set object. An iteration uses its epoch at its
// start, however it ends. The mutex guards the session's iterations, their participants and their
// runs, and is held while a consumer is called.
type session struct {
	dataset *dataset
	object  string // the trainer's data set, as in wire.Open
	rank    int
	id      int64 // of only this session, in the engine

	mu      sync.Mutex
	closed  bool
	next    *shuffle.State        // the start of the next iteration, or nil before the first
	began   time.Time             // when the last iteration did
	whole   bool                  // at the first row of an epoch
	begun   int                   // iterations
	workers int                   // of the last one, as it said
	used    map[string]bool       // serials of states and epochs
	pending *wire.SetEpoch        // set by EPOCH
	forming map[string]*iteration // by id: not all workers have joined yet
	waiting *run                  // reads the next epoch ahead of its JOIN
	latest  *iteration            // that began

	figures  tally
	paces    paces
	reported atomic.Int64  // when the loop's wait came last, as by wait.Now
	now      *wait.Waiting // the loop's next() in progress, as of then
	outputs  outputs
}

func newSession(d *dataset, object string, rank int) *session {
	return &session{dataset: d, object: object, rank: rank, id: d.engine.sessions.Add(1), used: map[string]bool{}, forming: map[string]*iteration{}, outputs: outputs{bytes: map[int]int64{}}}
}

// take adds a participant to the iteration that it names, which starts when it is complete.
func (s *session) take(p *participant) error {
	s.mu.Lock()
	it, err := s.add(p)
	var others []*iteration
	var differ error
	if err == nil && it.complete() {
		delete(s.forming, it.join.Iteration)
		others, differ = s.begin(it)
	}
	s.mu.Unlock()
	abortAll(others, differ) // before this rank hears of it, so that the others cannot finish meanwhile
	if differ != nil {
		s.mu.Lock()
		it.fail(differ)
		s.mu.Unlock()
	}
	return err
}

// add returns the iteration of a participant, with the participant in it. The mutex is held.
func (s *session) add(p *participant) (*iteration, error) {
	if s.closed {
		return nil, wire.ErrEnds
	}
	j := p.join
	it := s.formingOf(j)
	if it != nil && it.participants[min(j.Place(), len(it.participants)-1)] != nil { // a worker that joins again starts another
		it.fail(wire.TimeoutError("a torch worker began another iteration before all had joined this one"))
		it = nil
	}
	if it == nil {
		var err error
		if it, err = s.newIteration(j); err != nil {
			return nil, err
		}
		s.forming[j.Iteration] = it
	} else if err := s.agree(it, j); err != nil {
		delete(s.forming, it.join.Iteration)
		it.fail(err)
		return nil, err
	}
	if err := it.add(p); err != nil {
		return nil, err
	}
	s.spend(j.StateSerial)
	s.spend(j.EpochSerial)
	s.figures.joined()
	return it, nil
}

// newIteration returns a new iteration of the epoch that is due, and uses the epoch up.
func (s *session) newIteration(j wire.Join) (*iteration, error) {
	state, err := s.choose(j)
	if err != nil {
		return nil, err
	}
	steps, err := s.steps(state, j.WorldSize, j.Window)
	if err != nil {
		return nil, err
	}
	within(&state, steps)
	asked := s.requested(j)
	if s.pending != nil {
		if !s.used[s.pending.Serial] {
			asked.serial = s.pending.Serial
		}
		s.spend(s.pending.Serial)
		s.pending = nil
	}
	s.clock(state)
	s.paces.start()
	s.begun++
	s.workers = j.Workers
	it := newIteration(s, j, state, steps)
	it.number, it.before, it.asked = s.begun, s.next, asked
	after := afterEpoch(state, steps)
	s.next = &after
	return it, nil
}

// spend uses up a state or an epoch. The mutex is held.
func (s *session) spend(serial string) {
	if serial != "" { // without a serial it is always new
		s.used[serial] = true
	}
}

// clock reports the time of the epoch that ends with the iteration that starts now.
func (s *session) clock(state shuffle.State) {
	now := time.Now()
	if told := s.dataset.data.EpochTook; told != nil && s.whole && s.begun > 0 {
		told(now.Sub(s.began))
	}
	s.began, s.whole = now, state.Position == 0
}

// choose returns the state at the start of an iteration: a state that was not used yet, else an
// epoch that was not used yet, else the state after the last iteration.
func (s *session) choose(j wire.Join) (shuffle.State, error) {
	o := iterable.StreamOptions{BatchSize: s.batchSize(), State: s.next, LocalWorldSize: s.localRanks(j)}
	epoch, told := s.told(j)
	switch {
	case j.State != nil && !s.used[j.StateSerial]:
		o.State = j.State
	case told && s.next != nil && s.begins(*s.next, j) != uint64(epoch):
		state := *s.next
		state.Epoch, state.Position = uint64(epoch), 0
		o.State = &state
	case told && s.next != nil: // with the rows that the epoch before has left
	case told:
		o.Epoch = int(epoch)
	}
	o.Tail = s.tail(o.State, j.WorldSize)
	state, err := s.dataset.data.Dataset.Start(j.WorldSize, o)
	wrong := (*shuffle.Error)(nil) // of "tail": too few rows, whatever the state
	if errors.As(err, &wrong) && wrong.Field != "tail" && o.State == j.State && j.State != nil {
		err = wire.NewFailure(wire.KindState, "the state cannot be gone on from: %v", err)
	}
	return state, err
}

// begins returns the epoch of the first step after a state.
func (s *session) begins(state shuffle.State, j wire.Join) uint64 {
	steps, err := s.steps(state, j.WorldSize, j.Window)
	if err != nil {
		return state.Epoch
	}
	epoch, _, _ := epochOf(state, steps)
	return epoch
}

// localRanks returns how many data ranks this node has; 0 is not known.
func (s *session) localRanks(j wire.Join) int {
	return shuffle.LocalRanks(s.dataset.request.LocalWorldSize, j.ReplicaCount())
}

// told returns the epoch that was set and not used yet. One set by EPOCH is newer than what torch
// workers carry since they were made.
func (s *session) told(j wire.Join) (int64, bool) {
	switch {
	case s.pending != nil && !s.used[s.pending.Serial]:
		return s.pending.Epoch, true
	case j.Epoch != nil && !s.used[j.EpochSerial]:
		return *j.Epoch, true
	}
	return 0, false
}

func (s *session) batchSize() int { return max(1, s.dataset.data.Loader.BatchSize) }

func (s *session) steps(state shuffle.State, worldSize int, w wire.Window) (shuffle.Steps, error) {
	steps := shuffle.Steps{Rows: state.Rows, GlobalBatch: int64(s.batchSize()) * int64(worldSize), Tail: s.tail(&state, worldSize)}
	if steps.Rows == 0 {
		return steps, wire.NewFailure(wire.KindData, "%s: the data set has no rows%s", strings.Join(s.dataset.addresses(), ", "), s.dataset.data.Dataset.Tables()[0].Empty())
	}
	if err := steps.Validate(); err != nil {
		return steps, err
	}
	return steps.Window(w.Skip, w.Take)
}

// begin passes a complete iteration to the run that waits for it, or to a new one. With an error it
// returns the iterations of other ranks that differ: the caller aborts them without the mutex, and
// then fails this one. The caller holds the mutex.
func (s *session) begin(it *iteration) (others []*iteration, differ error) {
	it.stop()
	if err := it.arrange(); err != nil {
		it.fail(err)
		return nil, nil
	}
	if others, differ = s.dataset.engine.agreed.check(it); differ != nil {
		return others, differ
	}
	if r := s.waiting; r != nil {
		s.waiting = nil
		if r.adopt(it) {
			return nil, nil
		}
		r.cancel(errNotWanted)
	}
	s.dataset.engine.start(newRun(it))
	return nil, nil
}

// works counts the work of a loader until ended is called.
func (s *session) works(l *loader.Loader) (ended func()) {
	s.dataset.engine.work.begins(s.rank, l)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.figures.begins(l)
	return func() {
		s.dataset.engine.work.ends(s.rank, l)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.figures.ends(l)
	}
}

// dealt counts a batch. The mutex is held.
func (s *session) dealt(b *loader.Batch) {
	s.figures.batch(b)
	s.dataset.engine.work.batch(s.rank, b)
}

// waited adds to the wait of the rank's training loop.
func (s *session) waited(w wire.Waited) {
	s.dataset.engine.work.waited(s.rank, w.Report)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.figures.sum.Wait.Add(w.Report)
	s.paces.add(w.Report, s.figures.sum.Batches)
	s.now = w.Now
	s.reported.Store(wait.Now())
}

func (s *session) setEpoch(e wire.SetEpoch) wire.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.used[e.Serial] {
		s.pending = &e
	}
	return s.where()
}

// where returns the session's position, as far as it does not depend on the world size.
func (s *session) where() wire.Session {
	r := wire.Session{Workers: s.workers, State: s.next}
	if s.next != nil {
		r.NextEpoch = int64(s.next.Epoch)
	}
	if epoch, told := s.told(wire.Join{}); told {
		r.NextEpoch = epoch
	}
	return r
}

// locate returns the places of rows.
func (s *session) locate(rows []int64) (r wire.Session, err error) {
	for _, row := range rows {
		at, err := s.dataset.data.Dataset.Locate(row)
		if err != nil {
			return r, err
		}
		r.Places = append(r.Places, wire.Place{Path: at.URI, RowGroup: at.RowGroup, Row: at.Row})
	}
	return r, nil
}

// ask returns the session's position at a world size.
func (s *session) ask(a wire.Ask) (wire.Session, error) {
	if a.Outputs != nil {
		if err := s.outputs.reserve(a.Replica, *a.Outputs); err != nil {
			return wire.Session{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.asOf(wire.Join{Replica: a.Replica, Replicas: a.Replicas})()
	r := s.where()
	j := wire.Join{Rank: s.rank, WorldSize: a.WorldSize, Window: a.Window, Replicas: a.Replicas, State: a.State, StateSerial: a.StateSerial}
	state, err := s.choose(j)
	if err != nil {
		return r, err
	}
	steps, err := s.steps(state, a.WorldSize, a.Window)
	if err != nil {
		return r, err
	}
	within(&state, steps)
	r.State, r.Steps = &state, steps.Count(0)
	if a.Plan {
		r.Fingerprint = s.fingerprint(state, j, a.Replication)
	}
	if err := s.seats(a, state, &r); err != nil {
		return r, err
	}
	if a.Stats && s.dataset.data.Stats != nil {
		f := s.figures.figures()
		f.ImageCPUShare = s.latest.share()
		f.Reserved = s.dataset.engine.Budget.Admitted()
		if r.Stats, err = json.Marshal(s.dataset.data.Stats(f)); err != nil {
			return r, err
		}
		r.Audit = s.dataset.audits.last(a.AuditOf)
	}
	return r, nil
}

// close ends what the session does. Its consumers have gone.
func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.outputs.close()
	for _, it := range s.forming {
		it.stop()
	}
	if s.waiting != nil {
		s.waiting.cancel(errNotWanted)
		s.waiting = nil
	}
}

// refused counts an image that a device refused.
func (s *session) refused(loss *iterable.Loss) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.figures.sum.ImagesRefused++
	if loss != nil {
		s.figures.sum.Rows--
	}
}

// lose counts a row of a dealt batch as lost. It calls the loader without the mutex, since a loss
// is a note to the trainers.
func (s *session) lose(x iterable.Loss) error {
	l, epoch, step := s.reading()
	if l == nil {
		return nil
	}
	return l.Lose(epoch, step, x)
}

// reading returns the loader that began last, with the epoch and the step of the last batch.
func (s *session) reading() (l *loader.Loader, epoch, step int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var last time.Time
	for of, since := range s.figures.loaders {
		if l == nil || since.After(last) {
			l, last = of, since
		}
	}
	if it := s.latest; it != nil {
		epoch, step = int64(it.epoch), it.dealt.Load()
	}
	return l, epoch, step
}
