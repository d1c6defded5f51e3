package engine

import "github.com/shardfeed/shardfeed/shuffle"

const (
	maxBundle   = 1 << 12 // steps that come as one batch
	bundleBytes = 1 << 20 // and about the most memory that they take
)

// bundleOf returns how many steps of an iteration come as one batch: up to what the JOIN asks for,
// where the rank's rows in one step of n global batches are those of its n steps. In shuffled order
// that holds when the lanes are divided among the ranks, as each rank has one row of W in a row. In
// file order a rank has blocks of the step, so it holds for a single rank. bytes is the size of so
// many steps.
func bundleOf(j Join, state shuffle.State, tail shuffle.Tail, bytes func(steps int) int64) int {
	alone := j.WorldSize <= 1
	byLanes := state.Params != nil && state.Params.Lanes%max(1, j.WorldSize) == 0
	if j.Bundle <= 1 || j.Workers > 1 || tail == shuffle.Carry || !alone && !byLanes {
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
