package engine

import (
	"github.com/shardfeed/shardfeed/internal/engine/wire"
)

import "github.com/shardfeed/shardfeed/shuffle"

// tail returns what happens to rows that fill no step.
func (s *session) tail(state *shuffle.State, worldSize int) shuffle.Tail {
	switch tail := s.dataset.data.Loader.Tail; {
	case tail != "":
		return tail
	case state != nil && state.KeptTail() == shuffle.Carry:
		return shuffle.Carry
	case worldSize <= 1:
		return shuffle.Short
	}
	return shuffle.Pad
}

// epochOf returns the epoch whose steps an iteration from a state on makes, the position of the
// first step, and their number. Under shuffle.Carry it is the next epoch when no step of the
// state's own epoch is left.
func epochOf(state shuffle.State, steps shuffle.Steps) (epoch uint64, from, count int64) {
	epoch, from = state.Epoch, state.Position
	for count = steps.Count(from); count == 0; count = steps.Count(from) {
		epoch, from = epoch+1, steps.Next(from)
	}
	return epoch, steps.Begin(from), count
}

// afterEpoch returns the state that follows an iteration from a state on.
func afterEpoch(state shuffle.State, steps shuffle.Steps) shuffle.State {
	epoch, from, _ := epochOf(state, steps)
	state.Epoch, state.Position = epoch+1, steps.Next(from)
	if state.Position < 0 { // rows that the epoch has left to the next stay with it in a state
		state.Epoch, state.Position = epoch, steps.Rows+state.Position
	}
	return state
}

// within moves a state to the first step that is read from it on.
func within(state *shuffle.State, steps shuffle.Steps) {
	if steps.Part() {
		state.Epoch, state.Position = steps.Normalize(state.Epoch, state.Position)
		state.Position = steps.Begin(state.Position)
	}
}

const (
	maxBundle   = 1 << 12 // steps that come as one batch
	bundleBytes = 1 << 20 // and about the most memory that they take
)

// bundleOf returns the number of steps of an iteration to deliver as one batch: up to the JOIN's
// bundle, if the rank's rows in one step of n global batches equal the rows of its n steps. In
// shuffled order that holds if the lanes are divided among the ranks, as each rank has every W-th
// row. In file order a rank has blocks of the step, so it holds for a single rank. bytes is the
// size of a number of steps.
func bundleOf(j wire.Join, state shuffle.State, tail shuffle.Tail, bytes func(steps int) int64) int {
	alone := j.WorldSize <= 1
	byLanes := state.KeptLanes() > 0 && state.KeptLanes()%max(1, j.WorldSize) == 0
	if state.MixState != nil && state.Batching == shuffle.PerSource { // a longer step is of one source too
		return 1
	}
	if j.Bundle <= 1 || j.Workers > 1 || len(j.Seats) > 0 || j.ImageCPUShare != nil || tail == shuffle.Carry || !alone && !byLanes {
		return 1
	}
	n := min(j.Bundle, maxBundle)
	for n > 1 && bytes(n) > bundleBytes {
		n /= 2
	}
	return n
}

// bundled returns steps of n steps each. The last one has all rows that are left. The trainer,
// which counts single steps, drops what is too much for the tail.
func bundled(steps shuffle.Steps, n, worldSize int) shuffle.Steps {
	if n == 1 {
		return steps
	}
	steps.GlobalBatch *= int64(n)
	if steps.Tail = shuffle.Short; worldSize > 1 {
		steps.Tail = shuffle.Pad
	}
	return steps
}
