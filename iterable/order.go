package iterable

import (
	"fmt"

	"github.com/shardfeed/shardfeed/shuffle"
)

// An order is the rows of an epoch as all ranks together read them: shuffled by a plan, or as they
// lie in the files.
type order struct {
	plan  *shuffle.Plan     // nil without shuffle
	files *shuffle.Sequence // nil with it
	seed  uint64            // of files, for states

	mixture *shuffle.Mixture // of several sources, in place of both
	tail    shuffle.Tail     // of a mixture, for states
}

// orderOf is the order of streams that begin on so many ranks. A plan that neither a state nor a
// saved plan pins has a shuffle buffer of so many rows; 0 is that of the options, whose default
// memory bounds.
func (d *Dataset) orderOf(worldSize int, o StreamOptions, buffer, memory int64) (r order, err error) {
	switch {
	case d.mixed() && o.State != nil:
		r.tail = o.Tail
		r.mixture, err = d.remix(*o.State)
	case d.mixed():
		r.tail = o.Tail
		r.mixture, err = d.mix(worldSize, o, buffer, memory)
	case o.State != nil && o.State.Shuffle:
		r.plan, err = d.resume(*o.State, o.Tail)
	case o.State == nil && d.options.Shuffle:
		r.plan, err = d.plan(worldSize, o, buffer, memory)
	default:
		if r.seed = d.options.Seed; o.State != nil {
			r.seed = o.State.Seed
		}
		r.files, err = d.sequence(o.State)
	}
	if o.State != nil {
		err = d.explain(*o.State, err)
	}
	return r, err
}

// state is what all states of a stream have in common.
func (r order) state(globalBatch int64) shuffle.State {
	if r.mixture != nil {
		return r.mixture.State(0, 0, globalBatch, r.tail)
	}
	if r.plan != nil {
		return r.plan.State(0, 0, globalBatch)
	}
	return r.files.State(r.seed, 0, 0, globalBatch)
}

// buffer is the shuffle buffer in rows, of all sources together.
func (r order) buffer() (rows int64) {
	if r.mixture == nil {
		return r.plan.Params().Buffer
	}
	for _, s := range r.mixture.Sources() {
		rows += s.Plan.Params().Buffer
	}
	return rows
}

// A portion is what one worker reads of an order: which loads, when, and how rows are picked.
type portion struct {
	bound    bound
	schedule schedule
	walk     func(*Stream) walk
	lanes    int           // of the first epoch
	view     *shuffle.View // of a plan
}

func (d *Dataset) portion(r order, w shuffle.Worker, start stepper, o StreamOptions) (p portion, err error) {
	switch {
	case r.plan == nil && o.Seats != nil:
		return p, &OptionError{Field: "Seats", Text: "are of the lanes of one shuffled data set; leave them out of file order and of sources"}
	case r.mixture != nil:
		x, err := d.newMixed(r.mixture, w, start)
		if err != nil {
			return p, err
		}
		p.bound = x.bound(d.drawnRows(o))
		p.schedule = x.schedule()
		p.walk = x.walk
		p.lanes = x.mostLanes()
	case r.plan == nil:
		f := &fileOrder{sequence: r.files, worker: w, start: start}
		p.bound = d.sizes.files(r.files.Units(), d.drawnRows(o))
		p.schedule = newFileSchedule(f, d.sizes)
		p.walk = func(s *Stream) walk { return &fileWalk{stream: s, order: f} }
	default:
		v, err := r.plan.SeatedView(w, o.Seats, start.GlobalBatch)
		if err != nil {
			return p, err
		}
		e := &laneEpochs{plan: r.plan, view: v, start: start, made: map[uint64]*laneEpoch{}}
		p.bound = d.sizes.epochs(e, d.drawnRows(o))
		p.schedule = newLaneSchedule(e, d.sizes)
		p.walk = func(s *Stream) walk { return newLaneWalk(s, e) }
		p.lanes, p.view = len(e.at(start.epoch).slots), v
	}
	p.bound.batch, p.bound.store = d.batchBytes(o), d.options.StoreMemory
	p.bound.scratch, p.bound.moreScratch = o.Scratch, o.MoreScratch
	return p, nil
}

// begin is where streams begin on so many ranks; o has its defaults.
func (d *Dataset) begin(worldSize int, o StreamOptions) (stepper, error) {
	steps, err := d.steps(o.BatchSize, worldSize, o.Tail)
	if o.State != nil && d.mixed() { // an epoch stays as long as it was
		steps, err = stepsOf(o.State.Rows, o.BatchSize, worldSize, o.Tail)
		if g := o.State.GlobalBatch; err == nil && d.perSource() && g != steps.GlobalBatch {
			return stepper{}, &OptionError{Field: "BatchSize", Text: fmt.Sprintf("times the world size must be %d as in the state, got %d x %d: "+
				"with {Batching} \"per_source\" a step of so many rows is of one source", g, o.BatchSize, worldSize)}
		}
	}
	if err != nil {
		return stepper{}, err
	}
	start := stepper{Steps: steps, epoch: uint64(o.Epoch)}
	if o.State != nil {
		start.epoch, start.pos = o.State.Epoch, o.State.Position
	}
	start.epoch, start.pos = start.Normalize(start.epoch, start.pos)
	switch {
	case o.UntilEpoch > 0:
		start.end = uint64(o.UntilEpoch)
	case o.Epochs > 0:
		start.end = start.epoch + uint64(o.Epochs)
	}
	return start, nil
}

// Start is the state with which a stream of these options begins on so many ranks, the same on
// each: at the first step of an epoch, or where another state stands, with the tail and the global
// batch of the options.
func (d *Dataset) Start(worldSize int, o StreamOptions) (shuffle.State, error) {
	if err := o.Validate(); err != nil {
		return shuffle.State{}, fmt.Errorf("stream options: %w", err)
	}
	o = o.withDefaults(d)
	start, err := d.begin(worldSize, o)
	if err != nil {
		return shuffle.State{}, err
	}
	r, err := d.orderOf(worldSize, o, 0, d.options.Memory)
	if err != nil {
		return shuffle.State{}, err
	}
	state := r.state(start.GlobalBatch)
	state.Epoch, state.Position = start.epoch, start.pos
	return state, nil
}
