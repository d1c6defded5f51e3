package iterable

import (
	"fmt"

	"github.com/shardfeed/shardfeed/shuffle"
)

// Start is the state with which a stream of these options begins on so many ranks, the same on
// each: at the first step of an epoch, or where another state stands, with the tail and the global
// batch of the options.
func (d *Dataset) Start(worldSize int, o StreamOptions) (shuffle.State, error) {
	if err := o.Validate(); err != nil {
		return shuffle.State{}, fmt.Errorf("stream options: %w", err)
	}
	o = o.withDefaults(d)
	steps, err := d.steps(o.BatchSize, worldSize, o.Tail)
	if err != nil {
		return shuffle.State{}, err
	}
	base, err := d.base(worldSize, o, steps.GlobalBatch)
	if err != nil {
		return shuffle.State{}, err
	}
	start := firstStep(o, steps)
	base.Epoch, base.Position = start.epoch, start.pos
	return base, nil
}

// base is what all states of a stream have in common.
func (d *Dataset) base(worldSize int, o StreamOptions, globalBatch int64) (shuffle.State, error) {
	if d.shuffled(o) {
		p, err := d.planOf(worldSize, o)
		if err != nil {
			return shuffle.State{}, err
		}
		return p.State(0, 0, globalBatch), nil
	}
	q, err := d.sequence(o.State)
	if err != nil {
		return shuffle.State{}, err
	}
	return q.State(d.seed(o), 0, 0, globalBatch), nil
}

// firstStep is the stepper of a stream; o has its defaults.
func firstStep(o StreamOptions, steps shuffle.Steps) stepper {
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
	return start
}

// shuffled says in which order a stream reads: that of its state, else that of the data set.
func (d *Dataset) shuffled(o StreamOptions) bool {
	if o.State != nil {
		return o.State.Shuffle
	}
	return d.options.Shuffle
}

// seed is that of the state, else of the data set.
func (d *Dataset) seed(o StreamOptions) uint64 {
	if o.State != nil {
		return o.State.Seed
	}
	return d.options.Seed
}

// planOf is the shuffled order of a stream.
func (d *Dataset) planOf(worldSize int, o StreamOptions) (*shuffle.Plan, error) {
	if o.State != nil {
		return d.resume(*o.State, o.Tail)
	}
	return d.plan(worldSize, o.Tail, 0, d.options.Memory)
}

// planWithin is planOf with another shuffle buffer, 0 for that of the options, and memory limit.
func (d *Dataset) planWithin(worldSize int, o StreamOptions, buffer, memory int64) (*shuffle.Plan, error) {
	if o.State != nil {
		return d.resume(*o.State, o.Tail)
	}
	return d.plan(worldSize, o.Tail, buffer, memory)
}

// BatchBytes foretells the memory of a batch of so many rows: of mean rows, and an eighth for
// rounding. Without Pad and Carry it has no more rows than an epoch.
func (d *Dataset) BatchBytes(rows int, tail shuffle.Tail) int64 {
	return d.batchBytes(StreamOptions{BatchSize: rows, Tail: tail, Batches: 1})
}
