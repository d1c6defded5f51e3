package loader

import (
	"context"
	"fmt"
	"math/rand/v2"
)

// A Transform changes a batch after it was collated: augmentation, token masking. It may replace
// columns, and put anything into Batch.Data.
type Transform struct {
	// Name is for error messages.
	Name string

	// Apply changes the batch. The random numbers are the same whenever this rank makes this step
	// of this epoch with this seed, so a resumed run repeats them, with any number of workers.
	// Several goroutines call Apply at once, each on a batch of its own, and it must return when
	// ctx ends.
	Apply func(ctx context.Context, b *Batch, r *rand.Rand) error

	// Rows changes row i of the batch, in place of Apply. It is called for each row in turn, those
	// that fill the last step included. The random numbers belong to the row and the epoch: they
	// are the same on any number of ranks, in batches of any size. It needs a data set with RowIDs
	// or RowKeys.
	Rows func(ctx context.Context, b *Batch, i int, r *rand.Rand) error
}

// apply applies transform i to a batch.
func (c *collator) apply(ctx context.Context, b *Batch, i int) error {
	t := &c.transforms[i]
	if t.Rows == nil {
		c.pcg.Seed(key{seed: b.State.Seed, epoch: b.Epoch, step: b.Step, rank: c.rank, transform: i}.pcg())
		return t.Apply(ctx, b, c.random)
	}
	for row := range b.Rows {
		c.pcg.Seed(c.names.keyOf(row, i+1).pcg())
		if err := t.Rows(ctx, b, row, c.random); err != nil {
			return err
		}
	}
	return nil
}

// label names the transform in an error message.
func (t Transform) label(i int) string {
	if t.Name == "" {
		return fmt.Sprint(i)
	}
	return fmt.Sprintf("%d (%s)", i, t.Name)
}

// A key identifies the random numbers of one transform of one batch.
type key struct {
	seed      uint64 // the dataset's
	epoch     int64
	step      int64
	rank      int
	transform int // place in Options.Transforms
}

// pcg returns the two words that seed math/rand/v2's PCG. s is the seed at first; for each further
// number n of the key, in the order of the fields, s becomes mix(s) + n, where mix is one output of
// SplitMix64 (Steele, Lea, Flood, 2014). The words are mix(s) and mix(mix(s)).
func (k key) pcg() (hi, lo uint64) {
	return chain(k.seed, uint64(k.epoch), uint64(k.step), uint64(k.rank), uint64(k.transform))
}

func chain(s uint64, numbers ...uint64) (hi, lo uint64) {
	for _, n := range numbers {
		s = mix(s) + n
	}
	hi = mix(s)
	return hi, mix(hi)
}

func mix(s uint64) uint64 {
	s += 0x9e3779b97f4a7c15
	s = (s ^ s>>30) * 0xbf58476d1ce4e5b9
	s = (s ^ s>>27) * 0x94d049bb133111eb
	return s ^ s>>31
}
