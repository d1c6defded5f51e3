package iterable

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/shardfeed/shardfeed/audit"
	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/internal/cores"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

// defaultDraws is how many draws may be out at a time unless the options say otherwise.
const defaultDraws = 4

// errOrder reports a bug.
var errOrder = errors.New("the stream's schedule and its walk disagree; this is a bug")

// StreamOptions select what a stream reads. The zero value reads epoch 0 in steps of one row per
// rank.
type StreamOptions struct {
	BatchSize int          // rows of a step per rank; 0 is 1
	Epoch     int          // the first
	Epochs    int          // how many, the first counting even when a state starts inside it; 0 is 1, a negative number never ends
	Tail      shuffle.Tail // "" takes the state's, else the data set's

	// UntilEpoch ends the stream before this epoch, wherever it began. 0 leaves the end to Epochs.
	UntilEpoch int

	// LocalWorldSize is how many of the ranks a node has, for a ShuffleBuffer that is per node; 0
	// is not known.
	LocalWorldSize int

	// Horizon bounds the epochs that an endless stream reads ahead; nil sets no bound.
	Horizon *Horizon

	// Seats assign the lanes of the order to ranks, the same on all ranks: it is the order
	// without them. See [shuffle.SeatLanes] and [Dataset.HeldLanes]. nil is the rule's division.
	Seats shuffle.Seats

	// State goes on where an earlier stream stood. It brings shuffle, seed, epoch, position and
	// plan. Another Tail is taken, unless one of the two is Carry.
	State *shuffle.State

	Parallel int   // goroutines that decode; 0 is one for each processor
	Draws    int   // draws that may be out at a time; Next waits while all are in use. 0 is 4
	Batches  int   // batches of BatchSize rows that the layer above wants room for in the account, under mem.Batch
	Wider    int64 // bytes of a row that these batches take beyond the data's values

	// Scratch is bytes that the layer above needs beside its batches, under mem.Scratch.
	// MoreScratch is bytes that it can use too: it gets them as far as half of the room that is
	// left goes.
	Scratch, MoreScratch int64

	// Stacks are matrices that the layer above makes. Loads make them in place of their columns
	// where that takes no more memory, so that blocks may lack the columns.
	Stacks *rowgroup.Stacks

	// Hashes asks for Draw.Hashes and Draw.Gaps.
	Hashes bool

	// Copied keeps blocks out of mapped files: the layer above hands their bytes to code that does
	// not survive a fault.
	Copied bool
}

func (o StreamOptions) withDefaults(d *Dataset) StreamOptions {
	o.BatchSize = max(o.BatchSize, 1)
	if o.Epochs == 0 && o.UntilEpoch == 0 {
		o.Epochs = 1
	}
	if o.Tail == "" && o.State != nil {
		o.Tail = o.State.KeptTail()
	}
	if o.Tail == "" {
		o.Tail = d.options.Tail
	}
	if o.Parallel == 0 {
		o.Parallel = cores.Number()
	}
	if o.Draws == 0 {
		o.Draws = defaultDraws
	}
	return o
}

// Validate lists all problems, each an [OptionError].
func (o StreamOptions) Validate() error {
	p := option.List{New: option.NewError}
	p.Within("BatchSize", int64(o.BatchSize), option.MaxBatchRows)
	p.Within("Epoch", int64(o.Epoch), option.MaxEpoch)
	if o.Epochs > option.MaxEpoch {
		p.Add("Epochs", "must be at most %d, got %d", option.MaxEpoch, o.Epochs)
	}
	p.Within("UntilEpoch", int64(o.UntilEpoch), option.MaxEpoch)
	if o.UntilEpoch > 0 && o.Epochs != 0 {
		p.Add("UntilEpoch", "says where to end, and so does {Epochs}; leave one of the two out")
	}
	p.OneOf("Tail", string(o.Tail), string(shuffle.Drop), string(shuffle.Pad), string(shuffle.Short), string(shuffle.Carry))
	p.Within("LocalWorldSize", int64(o.LocalWorldSize), option.MaxWorldSize)
	p.Within("Parallel", int64(o.Parallel), maxParallel)
	p.Within("Draws", int64(o.Draws), option.MaxBatches)
	p.Within("Batches", int64(o.Batches), option.MaxBatches)
	p.Within("Wider", o.Wider, option.MaxBytes)
	p.Within("Scratch", o.Scratch, option.MaxBytes)
	p.Within("MoreScratch", o.MoreScratch, option.MaxBytes)
	if err := o.Seats.Validate(len(o.Seats)); err != nil {
		p.Join(&OptionError{Field: "Seats", Text: "must be a permutation of the lanes: " + err.Error(), Err: err})
	}
	if o.State != nil {
		if err := o.State.Validate(); err != nil {
			p.Join(&OptionError{Field: "State", Text: "is not valid: " + err.Error(), Err: err})
		}
	}
	return p.Err()
}

// A Horizon is the last epoch that a stream makes draws and reads loads of; a stream waits at its
// end until Move.
type Horizon = ahead.Horizon

// NewHorizon returns a horizon with a last epoch.
func NewHorizon(last uint64) *Horizon { return ahead.NewHorizon(last) }

// A Stream hands out one worker's rows of each step. Next, Close and Draw.Release are safe for
// concurrent use; there is one order, so one goroutine calls Next.
type Stream struct {
	dataset *Dataset
	account *mem.Account
	ahead   *ahead.Reader
	buffer  *buffer
	base    shuffle.State // what all states of the stream have in common
	keys    []audit.Key   // of the samples of each source
	hashes  bool          // StreamOptions.Hashes

	allowed chan struct{} // a value for each draw that may still be out
	closing chan struct{}
	once    sync.Once

	mu       sync.Mutex // held by Next and by Close's second half
	walk     walk
	steps    stepper
	now      *Draw // begun and not finished
	live     Trail // of it
	rows     int   // of its part of the step
	full     int   // the same if the step were full
	losses   losses
	groups   int64 // row groups in now
	drawn    int64 // number of the last draw
	floor    uint64
	pending  map[ahead.Key]*arrival // received, and not awaited yet
	stamps   []uint32               // by group: the draw that counted it last
	unwanted []*ahead.Load
	padding  *resident
	err      error

	tally   tally        // of draws; the read-ahead counts loads
	spare   sync.Pool    // of *Draw
	mapping *mem.Account // in which images stay mapped; nil keeps no image

	stateMu sync.Mutex
	state   shuffle.State
	settled bool
}

// Next returns the next step's rows; io.EOF after the last. After another error it returns the same
// one again, except after an error of ctx: then the next call goes on where this one stopped.
func (s *Stream) Next(ctx context.Context) (*Draw, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	if err := cause.Of(ctx); err != nil { // even when the step is ready
		return nil, err
	}
	if s.now == nil {
		if err := s.begin(ctx); err != nil {
			return nil, s.keep(ctx, err)
		}
	}
	d := s.now
	if err := s.fill(ctx, d); err != nil {
		return nil, s.keep(ctx, err)
	}
	s.now = nil
	d.Trail.Until(wait.Now(), wait.Collate)
	d.Rows = len(d.Picks)
	s.tally.add(Stats{Draws: 1, Rows: int64(d.Valid), Lost: int64(d.Lost), Groups: s.groups})
	s.groups = 0
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	s.state = d.State
	return d, nil
}

// keep remembers an error for good, unless the caller's ctx caused it.
func (s *Stream) keep(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	s.err = err
	return err
}

// begin takes room for a draw and sets it up.
func (s *Stream) begin(ctx context.Context) error {
	s.freeUnwanted()
	steps := s.steps
	st, ok := steps.next()
	if !ok {
		return io.EOF
	}
	d := s.newDraw()
	s.live.Follow(d.Trail)
	if err := s.ahead.Enter(ctx, st.epoch, d.Trail); err != nil {
		return err
	}
	s.live.Next(wait.Room)
	began, waits := wait.Now(), len(s.allowed) == 0
	if _, _, err := ahead.Receive(ctx, s.closing, s.allowed); err != nil {
		return err
	}
	s.steps = steps
	s.drawn++
	s.live.Follow(d.Trail)
	if waits {
		d.Trail.Until(began, wait.Collate)
		d.Trail.Until(wait.Now(), wait.Room)
	}
	d.number = s.drawn
	d.Epoch, d.Position, d.Step = int64(st.epoch), st.pos, st.pos/s.steps.GlobalBatch
	d.State = s.base
	d.State.Epoch, d.State.Position = steps.epoch, steps.pos
	s.rows, s.full = s.walk.begin(st)
	s.buffer.begin(d.number)
	s.now = d
	return nil
}

// fill picks the draw's rows and pads them.
func (s *Stream) fill(ctx context.Context, d *Draw) error {
	if len(d.Picks)+d.Lost < s.rows {
		if err := s.walk.fill(ctx, d); err != nil {
			return err
		}
	}
	d.Valid = s.rows - d.Lost
	rows := s.rows
	if s.steps.Tail == shuffle.Pad {
		rows = s.full
	}
	if s.losses.OnError == Skip {
		rows -= d.Lost
	}
	if d.Valid == 0 && rows > 0 {
		return s.padWithNothing(ctx, d, rows)
	}
	for i := 0; len(d.Picks) < rows; i++ {
		if len(d.After) > 0 {
			d.After = append(d.After, make([]int32, len(d.Picks)-len(d.After))...)
			d.After = append(d.After, d.After[i])
		}
		d.Picks = append(d.Picks, d.Picks[i])
	}
	return nil
}

// State returns the state of training after the last draw that was handed out.
func (s *Stream) State() shuffle.State {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	return s.state
}

// Stats counts what the stream did so far.
func (s *Stream) Stats() Stats { return s.tally.add(Stats{}).with(s.ahead.Counts()) }

// Live is the trail of the draw that Next makes, while it does.
func (s *Stream) Live() *Trail { return &s.live }

// Account is the stream's memory.
func (s *Stream) Account() *Account { return (*Account)(s.account) }

// newDraw takes a draw that was released, or makes one.
func (s *Stream) newDraw() *Draw {
	d, ok := s.spare.Get().(*Draw)
	if !ok {
		d = &Draw{Trail: new(Trail)}
	}
	d.Trail.Reset()
	*d = Draw{
		Blocks: d.Blocks[:0], Picks: d.Picks[:0], Hashes: d.Hashes[:0], Gaps: d.Gaps[:0], After: d.After[:0], Trail: d.Trail,
		from: s, each: s.hashes,
	}
	return d
}

// pick names the row that leaves as the seq-th of a span.
func (s *Stream) pick(d *Draw, r *resident, seq uint32) rowgroup.Pick {
	part, row := r.find(seq)
	at := &r.places[part]
	if at.draw != d.number {
		s.place(d, r, part)
	}
	return rowgroup.MakePick(at.index, int(row))
}

// place puts a block of a span into a draw's table.
func (s *Stream) place(d *Draw, r *resident, part int) {
	r.places[part] = placed{draw: d.number, index: len(d.Blocks)}
	d.Blocks = append(d.Blocks, r.hold.Blocks[part])
	if stamp := uint32(d.number); s.stamps[r.hold.place] != stamp {
		s.stamps[r.hold.place] = stamp
		s.groups++
	}
}

// release takes a draw back.
func (s *Stream) release(d *Draw) {
	s.buffer.release(d.number)
	clear(d.Blocks)
	s.spare.Put(d)
	s.allowed <- struct{}{}
	s.settle()
}

// Close stops the stream, waits for its goroutines and frees its memory, except blocks that draws
// still hold: they are freed when the draws are released. It may be called twice, and while another
// goroutine is in Next, which then fails.
func (s *Stream) Close() error {
	s.once.Do(func() {
		close(s.closing)
		s.ahead.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drain()
		if s.err == nil {
			s.err = ahead.ErrClosed
		}
		if s.now != nil { // not handed out
			s.now.Release()
			s.now = nil
		}
		s.stateMu.Lock()
		s.settled = true
		s.stateMu.Unlock()
		s.dataset.leave()
		s.settle()
	})
	return nil
}

// settle gives the reservation back once the stream is closed and no draw is out.
func (s *Stream) settle() {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	if s.settled && s.buffer.idle() {
		s.account.Close()
		s.dataset.keeping.Leave(s.mapping)
		s.mapping = nil
	}
}
