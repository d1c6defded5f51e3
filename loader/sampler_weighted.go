package loader

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
)

// Weighted is rows drawn by weight: row i with a probability of weights[i] over their sum, with or
// without replacement, as torch's WeightedRandomSampler. It draws by a table of integers (Walker's
// alias method), so that every machine draws the same rows.
type Weighted struct {
	weights     []uint64
	table       aliasTable // of all rows
	replacement bool
	samples     int64
	seed        uint64
}

// largestWeight is the integer that the largest weight is scaled to. A positive weight becomes at
// least 1.
const largestWeight = 1 << 31

// NewWeighted refuses weights that are negative or not finite, all-zero weights, and more samples
// without replacement than there are rows with a weight.
func NewWeighted(weights []float64, samples int64, replacement bool, seed uint64) (*Weighted, error) {
	if int64(len(weights)) > math.MaxUint32 {
		return nil, fmt.Errorf("weights must be at most %d, got %d", uint32(math.MaxUint32), len(weights))
	}
	largest, some := 0.0, int64(0)
	for i, w := range weights {
		if !(w >= 0) || math.IsInf(w, 0) {
			return nil, fmt.Errorf("weights[%d] must be a finite number of at least 0, got %v", i, w)
		}
		largest = max(largest, w)
		if w > 0 {
			some++
		}
	}
	switch {
	case some == 0:
		return nil, errors.New("weights must have at least one above 0")
	case samples < 1:
		return nil, fmt.Errorf("samples must be at least 1, got %d", samples)
	case !replacement && samples > some:
		return nil, fmt.Errorf("samples must be at most %d without replacement, the weights above 0, got %d", some, samples)
	}
	s := &Weighted{weights: make([]uint64, len(weights)), replacement: replacement, samples: samples, seed: seed}
	for i, w := range weights {
		if w > 0 {
			s.weights[i] = max(1, uint64(w/largest*largestWeight))
		}
	}
	s.table = newAliasTable(s.weights)
	return s, nil
}

// Len is the number of samples.
func (s *Weighted) Len() int64 { return s.samples }

// Rows differ from epoch to epoch.
func (s *Weighted) Rows(epoch int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		r := sampling(s.seed, epoch)
		if !s.replacement {
			s.once(r, yield)
			return
		}
		for range s.samples {
			if !yield(s.table.draw(r)) {
				return
			}
		}
	}
}

// once draws each row at most once, by rejecting rows drawn before; when most are rejected, a table
// of the remaining rows replaces the first.
func (s *Weighted) once(r *rand.Rand, yield func(int64) bool) {
	left, table, misses := append([]uint64(nil), s.weights...), s.table, 0
	for n := int64(0); n < s.samples; {
		row := table.draw(r)
		if left[row] == 0 {
			if misses++; misses > len(left) {
				table, misses = newAliasTable(left), 0
			}
			continue
		}
		left[row] = 0
		n++
		if !yield(row) {
			return
		}
	}
}

// An aliasTable draws places of a list of weights in constant time: a column is chosen uniformly,
// and in it, by a number below the sum of all weights, its own place or another.
type aliasTable struct {
	sum   uint64
	own   []uint64 // by column: below it the column's own place
	other []uint32
}

// newAliasTable makes a table (Vose, 1991). Each column has the mean of the weights: weights are
// multiplied by their number, so that it is their sum.
func newAliasTable(weights []uint64) aliasTable {
	n := len(weights)
	t := aliasTable{own: make([]uint64, n), other: make([]uint32, n)}
	for _, w := range weights {
		t.sum += w
	}
	var small, large []uint32
	for i, w := range weights {
		t.own[i], t.other[i] = w*uint64(n), uint32(i)
		if t.own[i] < t.sum {
			small = append(small, uint32(i))
		} else {
			large = append(large, uint32(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		a, b := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		t.other[a] = b
		t.own[b] -= t.sum - t.own[a]
		if t.own[b] < t.sum {
			large = large[:len(large)-1]
			small = append(small, b)
		}
	}
	return t
}

func (t *aliasTable) draw(r *rand.Rand) int64 {
	column := below(r, int64(len(t.own)))
	if uint64(below(r, int64(t.sum))) < t.own[column] {
		return column
	}
	return int64(t.other[column])
}
