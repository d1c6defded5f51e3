package iterable

import (
	"fmt"

	"github.com/shardfeed/shardfeed/shuffle"
)

// orderOf returns the order of streams that start on worldSize ranks. buffer is the shuffle buffer
// in rows if neither a state nor a saved plan pins it; 0 leaves it to the options, whose default is
// bounded by memory.
func (d *Dataset) orderOf(worldSize int, o StreamOptions, buffer, memory int64) (order, error) {
	r, err := d.blend.order(worldSize, o, buffer, memory)
	if err != nil && o.State != nil {
		err = d.explain(*o.State, err)
	}
	return r, err
}

// begin returns the place where streams start on worldSize ranks; o has its defaults.
func (d *Dataset) begin(worldSize int, o StreamOptions) (stepper, error) {
	steps, err := d.blend.steps(o.BatchSize, worldSize, o.Tail, o.State)
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

// started returns where streams start on worldSize ranks, and their order. o has its defaults.
func (d *Dataset) started(worldSize int, o StreamOptions) (stepper, order, error) {
	start, err := d.begin(worldSize, o)
	if err != nil {
		return start, nil, err
	}
	r, err := d.orderOf(worldSize, o, 0, d.options.Memory)
	return start, r, err
}

// Start returns the state with which streams of these options start on worldSize ranks, the same on
// each: at the first step of an epoch, or at another state, with the tail and the global batch of
// the options.
func (d *Dataset) Start(worldSize int, o StreamOptions) (shuffle.State, error) {
	if err := o.Validate(); err != nil {
		return shuffle.State{}, fmt.Errorf("stream options: %w", err)
	}
	start, r, err := d.started(worldSize, o.withDefaults(d))
	if err != nil {
		return shuffle.State{}, err
	}
	state := r.state(start.GlobalBatch)
	state.Epoch, state.Position = start.epoch, start.pos
	return state, nil
}

// PoorMixing predicts how streams with these options on worldSize ranks mix sorted data. It is nil
// if they mix it well enough, and for mixtures and file order.
func (d *Dataset) PoorMixing(worldSize int, o StreamOptions) (*PoorMixing, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("stream options: %w", err)
	}
	if !d.options.Shuffle || len(d.sources) > 1 {
		return nil, nil
	}
	start, r, err := d.started(worldSize, o.withDefaults(d))
	if err != nil {
		return nil, err
	}
	return r.poorMixing(worldSize, start.GlobalBatch)
}

// WarnOfMixing calls Events.PoorMixing where streams with these options mix sorted data poorly. It
// leaves errors of the options to the stream.
func (d *Dataset) WarnOfMixing(worldSize int, o StreamOptions) {
	if d.options.Events.PoorMixing == nil {
		return
	}
	if m, err := d.PoorMixing(worldSize, o); err == nil && m != nil {
		d.options.Events.PoorMixing(m)
	}
}
