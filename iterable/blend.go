package iterable

import (
	"github.com/shardfeed/shardfeed/iterable/internal/saved"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A blend makes the samples of a data set from its sources: from a single one, or from several
// by weight.
type blend interface {
	// samples returns how many an epoch has, under PerSource before they are rounded to steps.
	samples() int64

	// rule names the rule of the samples; "" without one, or with several.
	rule() string

	// steps divides an epoch into steps. A state, which may be nil, pins the length of its epochs.
	steps(batchSize, worldSize int, tail shuffle.Tail, state *shuffle.State) (shuffle.Steps, error)

	// order returns the order of an epoch, see Dataset.orderOf.
	order(worldSize int, o StreamOptions, buffer, memory int64) (order, error)

	// parts returns how many of n samples that are out at a time each source can have.
	parts(n int64) []int64

	// bufferRows returns how many samples a shuffle buffer over all ranks holds, under the weights
	// of a state if it is not nil.
	bufferRows(size Size, state *shuffle.State) int64

	// counts returns how many samples of each source come before a state, by name; nil for a single
	// source.
	counts(state shuffle.State) map[string]int64

	// compare lists the differences from a state that only a blend of several sources can have.
	compare(to *contradictions, state shuffle.State)

	// save adds the order of a state to a plan file.
	save(f *saved.File, state shuffle.State) error
}
