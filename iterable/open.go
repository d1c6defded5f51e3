package iterable

import (
	"context"
	"fmt"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Stream starts to read. It reserves the stream's whole memory bound, or fails with a [MemoryError]
// before anything is read. ctx bounds the call alone; the stream runs until Close.
func (d *Dataset) Stream(ctx context.Context, w shuffle.Worker, o StreamOptions) (*Stream, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("stream options: %w", err)
	}
	if err := w.Validate(); err != nil {
		return nil, err
	}
	if err := cause.Of(ctx); err != nil {
		return nil, err
	}
	w, o = whole(w), o.withDefaults(d)
	steps, err := d.steps(o.BatchSize, w.WorldSize, o.Tail)
	if err != nil {
		return nil, err
	}
	start := firstStep(o, steps)
	s := &Stream{
		dataset: d, options: o, steps: start, closing: make(chan struct{}), outside: make(chan struct{}, o.Draws),
		pending: map[key]*load{}, residents: map[key]*resident{}, stamps: make([]uint32, len(d.manifest.Groups())),
	}
	s.ahead = &readahead{manifest: d.manifest, recodes: d.recodes, sharing: &d.sharing, overEstimate: d.options.Events.OverEstimate}
	s.buffer = &buffer{ahead: s.ahead}
	if err := d.order(s, w, start); err != nil {
		return nil, err
	}
	if err := d.enter(); err != nil {
		s.account.Close()
		return nil, err
	}
	if o.State != nil && o.State.GlobalBatch != steps.GlobalBatch && d.options.Events.BatchChanged != nil {
		d.options.Events.BatchChanged(o.State.GlobalBatch, steps.GlobalBatch)
	}
	s.state = s.base
	s.state.Epoch, s.state.Position = start.epoch, start.pos
	s.ahead.start(context.WithoutCancel(ctx), d.fetchers, o.Parallel)
	return s, nil
}

// order gives a stream its schedule and walk, shuffled or not, and its account.
func (d *Dataset) order(s *Stream, w shuffle.Worker, start stepper) error {
	var err error
	if d.shuffled(s.options) {
		err = d.lanesOf(s, w, start)
	} else {
		err = d.filesOf(s, w, start)
	}
	s.ahead.account = s.account
	return err
}

func (d *Dataset) lanesOf(s *Stream, w shuffle.Worker, start stepper) error {
	p, err := d.planOf(w.WorldSize, s.options)
	if err != nil {
		return err
	}
	epochs, err := newLaneEpochs(p, w, start)
	if err != nil {
		return err
	}
	b := d.laneBound(epochs, s.options)
	r := remedy{dataset: d, stream: s.options, need: func(buffer, memory int64) (bound, error) {
		return d.laneNeed(w, start, s.options, buffer, memory)
	}}
	if s.options.State == nil && d.options.Plan == nil { // else the buffer is fixed
		r.buffer = p.Params().Buffer
	}
	s.account, err = d.reserve(b, r)
	if err != nil {
		return err
	}
	s.ahead.most = b.early(s.account.Reserved())
	s.base = p.State(0, 0, start.GlobalBatch)
	s.ahead.schedule = newLaneSchedule(epochs, d.sizes)
	s.walk = newLaneWalk(s, epochs)
	return nil
}

func (d *Dataset) filesOf(s *Stream, w shuffle.Worker, start stepper) error {
	q, err := d.sequence(s.options.State)
	if err != nil {
		return err
	}
	b := d.fileBound(q.Units(), s.options)
	r := remedy{dataset: d, stream: s.options, need: func(int64, int64) (bound, error) { return b, nil }}
	if s.account, err = d.reserve(b, r); err != nil {
		return err
	}
	s.ahead.most = b.early(s.account.Reserved())
	order := &fileOrder{sequence: q, worker: w, start: start}
	s.base = q.State(d.seed(s.options), 0, 0, start.GlobalBatch)
	s.ahead.schedule = newFileSchedule(order, d.sizes)
	s.walk = &fileWalk{stream: s, order: order}
	return nil
}

func newLaneEpochs(p *shuffle.Plan, w shuffle.Worker, start stepper) (*laneEpochs, error) {
	v, err := p.View(w)
	if err != nil {
		return nil, err
	}
	return &laneEpochs{plan: p, view: v, start: start, made: map[uint64]*laneEpoch{}}, nil
}

// drawnRows is how many rows can be in draws that are out. Rows that Pad adds repeat rows of the
// draw.
func (d *Dataset) drawnRows(o StreamOptions) int64 {
	rows := int64(o.BatchSize)
	if o.Tail != shuffle.Carry { // its steps go on into the epochs that follow
		rows = min(rows, d.NumRows())
	}
	return int64(o.Draws) * rows
}

// laneNeed is the bound of a stream in shuffled order with a buffer of so many rows, 0 for that of
// the options, under a memory limit.
func (d *Dataset) laneNeed(w shuffle.Worker, start stepper, o StreamOptions, buffer, memory int64) (bound, error) {
	p, err := d.planWithin(w.WorldSize, o, buffer, memory)
	if err != nil {
		return bound{}, err
	}
	epochs, err := newLaneEpochs(p, w, start)
	if err != nil {
		return bound{}, err
	}
	return d.laneBound(epochs, o), nil
}

// laneBound is the bound of a stream in shuffled order, with what is not of the order.
func (d *Dataset) laneBound(e *laneEpochs, o StreamOptions) bound {
	return d.complete(d.sizes.epochs(e, d.drawnRows(o)), o)
}

// fileBound is that of a stream without shuffle.
func (d *Dataset) fileBound(units []shuffle.Unit, o StreamOptions) bound {
	return d.complete(d.sizes.files(units, d.drawnRows(o)), o)
}

func (d *Dataset) complete(b bound, o StreamOptions) bound {
	b.batch, b.store = d.batchBytes(o), d.options.StoreMemory
	return b
}

// batchBytes foretells the memory of the batches that the layer above makes: mean rows, and an
// eighth for rounding. A batch of more rows than an epoch has, of Pad or Carry, has some of them
// again, which add their values alone.
func (d *Dataset) batchBytes(o StreamOptions) int64 {
	if o.Batches == 0 || d.NumRows() == 0 {
		return 0
	}
	var bytes int64
	for _, g := range d.sizes.decoded() {
		bytes += g.narrow + g.wide
	}
	batches, rows := int64(o.Batches), min(int64(o.BatchSize), d.NumRows())
	all := mulDiv(max(bytes, d.valueBytes()), batches*rows, d.NumRows()) // codes become values
	if again := int64(o.BatchSize) - rows; again > 0 && (o.Tail == shuffle.Pad || o.Tail == shuffle.Carry) {
		all += mulDiv(d.valueBytes(), batches*again, d.NumRows())
	}
	return all + all/roundingPart + batches*blockBytes
}

// valueBytes is what the values of all rows take.
func (d *Dataset) valueBytes() int64 {
	var bytes int64
	for g := range d.manifest.Groups() {
		bytes += d.manifest.ValueBytes(g)
	}
	return bytes
}
