package loader

import (
	"iter"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// A Sampler chooses the rows of a [Map] for an epoch, and their order: a pure function of the
// sampler and the epoch, the same on every machine. The samplers of this package have the names and
// the meaning of the samplers of torch.utils.data, but not torch's random numbers.
type Sampler interface {
	Rows(epoch int64) iter.Seq[int64]
	Len() int64 // rows of an epoch
}

// Sequential is rows 0 to N-1, in this order.
type Sequential struct{ N int64 }

// Len is N.
func (s Sequential) Len() int64 { return s.N }

// Rows are the same in each epoch.
func (s Sequential) Rows(int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for row := range s.N {
			if !yield(row) {
				return
			}
		}
	}
}

// Random is Samples rows of N in random order. 0 samples are N. Without Replacement each row comes
// once before any comes again.
type Random struct {
	N           int64
	Replacement bool
	Samples     int64
	Seed        uint64
}

// Len is Samples, or N.
func (s Random) Len() int64 {
	if s.N > 0 && s.Samples > 0 {
		return s.Samples
	}
	return s.N
}

// Rows differ from epoch to epoch.
func (s Random) Rows(epoch int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		r, left := sampling(s.Seed, epoch), s.Len()
		if s.Replacement {
			for ; left > 0 && yield(below(r, s.N)); left-- {
			}
			return
		}
		for left > 0 {
			for _, row := range permuted(r, s.N) {
				if left == 0 || !yield(row) {
					return
				}
				left--
			}
		}
	}
}

// Subset is a list of rows, in the given order.
type Subset struct{ Indices []int64 }

// Len is the number of indices.
func (s Subset) Len() int64 { return int64(len(s.Indices)) }

// Rows are the same in each epoch.
func (s Subset) Rows(int64) iter.Seq[int64] { return slices.Values(s.Indices) }

// SubsetRandom is a list of rows, each once, in random order.
type SubsetRandom struct {
	Indices []int64
	Seed    uint64
}

// Len is the number of indices.
func (s SubsetRandom) Len() int64 { return int64(len(s.Indices)) }

// Rows differ from epoch to epoch.
func (s SubsetRandom) Rows(epoch int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for _, i := range permuted(sampling(s.Seed, epoch), s.Len()) {
			if !yield(s.Indices[i]) {
				return
			}
		}
	}
}

// Distributed is one rank's part of the rows of another sampler, or of an order of its own: row i
// belongs to rank i mod WorldSize. Each rank has equally many: with DropLast the last rows are left
// out, else the first come again. It is torch's DistributedSampler.
type Distributed struct {
	N               int64
	Rank, WorldSize int // WorldSize 0 means 1
	Shuffle         bool
	DropLast        bool
	Seed            uint64
}

// Len is the same on every rank.
func (s Distributed) Len() int64 {
	world := int64(max(s.WorldSize, 1))
	if s.DropLast {
		return s.N / world
	}
	return (s.N + world - 1) / world
}

// Rows differ from epoch to epoch with Shuffle.
func (s Distributed) Rows(epoch int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		var order []int64
		if s.Shuffle {
			order = permuted(sampling(s.Seed, epoch), s.N)
		}
		world := int64(max(s.WorldSize, 1))
		for i := range s.Len() {
			at := (i*world + int64(s.Rank)) % s.N
			if order != nil {
				at = order[at]
			}
			if !yield(at) {
				return
			}
		}
	}
}

// Batched divides rows into lists of size rows; the last may have fewer, unless dropLast leaves it
// out. A list is the caller's.
func Batched(rows iter.Seq[int64], size int, dropLast bool) iter.Seq[[]int64] {
	size = max(size, 1)
	return func(yield func([]int64) bool) {
		var list []int64
		for row := range rows {
			if list = append(list, row); len(list) < size {
				continue
			}
			if !yield(list) {
				return
			}
			list = make([]int64, 0, size)
		}
		if len(list) > 0 && !dropLast {
			yield(list)
		}
	}
}

// sampling returns the random numbers of an epoch.
func sampling(seed uint64, epoch int64) *rand.Rand {
	lo := mix(mix(seed) + uint64(epoch))
	return rand.New(rand.NewPCG(lo, mix(lo)))
}

// below returns a number from 0 to n-1: the high word of a product, whose bias is at most n/2^64.
func below(r *rand.Rand, n int64) int64 {
	at, _ := bits.Mul64(r.Uint64(), uint64(n))
	return int64(at)
}

// permuted returns 0 to n-1 in random order (Fisher and Yates).
func permuted(r *rand.Rand, n int64) []int64 {
	rows := make([]int64, n)
	for i := range rows {
		k := below(r, int64(i)+1)
		rows[i] = rows[k]
		rows[k] = int64(i)
	}
	return rows
}
