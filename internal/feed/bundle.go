package feed

import "github.com/shardfeed/shardfeed/shuffle"

const (
	maxBundle   = 1 << 12 // steps that come as one batch
	bundleBytes = 1 << 20 // and about the most memory that they take
)

// bundleOf is how many steps of an iteration come as one batch: as many as the JOIN asks for, where the k-th rows of the rank in a step of n
// global batches are those of its n steps. In the shuffled order they are when lanes are divided among the ranks: each rank has one row of
// W in a row. In file order a rank has blocks of the step, so that it must be alone. bytes is what so many
// steps take.
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

// bundled are the steps of n steps each. The last one has all rows that are left: what of them is too much for the tail is the trainer's to
// know, who counts single steps.
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
