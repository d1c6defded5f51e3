package shuffle

import (
	"cmp"
	"math/big"
	"slices"
)

// EpochOptions set the size of a mixture's epochs by exactly one of Stop, Size and Counts.
type EpochOptions struct {
	Stop   Stop    // "" is StopFirst
	Size   int64   // samples of an epoch
	Counts []int64 // of each source

	Weights []float64
	Rows    []int64 // samples of each source
	Tokens  []int64 // in Rows, if weights are of tokens; else nil
	Step    int64   // samples of a step of one source; 0 or 1 if steps mix all sources
	Seed    uint64  // of the mixture
}

// EpochCounts returns the samples of an epoch of a mixture and their number by source. counts is
// nil if they may differ from epoch to epoch, because the weights do not divide the size or a pass
// is not made of whole steps.
func EpochCounts(o EpochOptions) (rows int64, counts []int64, err error) {
	o.Step = max(1, o.Step)
	if len(o.Counts) > 0 {
		return o.whole(slices.Clone(o.Counts))
	}
	if err := checkWeights(o.Weights); err != nil {
		return 0, nil, err
	}
	exact := exactShares(o.Weights, o.Rows, o.Tokens)
	if o.Size > 0 {
		rows = ceilDiv(o.Size, o.Step) * o.Step
		return rows, o.divided(rows, exact), nil
	}
	if o.Step > 1 {
		rows, err = o.steps(newRatio(exact))
		return rows, nil, err
	}
	ends := o.lastOf(exact)
	each := new(big.Rat).Quo(big.NewRat(o.Rows[ends], 1), exact[ends]) // samples by weight
	counts = make([]int64, len(exact))
	for d, w := range exact {
		if w.Sign() == 0 {
			continue
		}
		n := rounded(new(big.Rat).Mul(each, w))
		if !n.IsInt64() || n.Int64() > maxMixed {
			return 0, nil, o.tooLong()
		}
		counts[d] = max(1, n.Int64())
	}
	return o.whole(counts)
}

// steps returns the samples of an epoch of steps of one source each, up to the step by which the
// first source, or each, has given all of its samples.
func (o EpochOptions) steps(r *Ratio) (rows int64, err error) {
	steps := newDeal(r.weights, 1, o.Seed).row(0, 1)
	for d, w := range r.weights {
		if w == 0 {
			continue
		}
		last := steps.place(d, ceilDiv(o.Rows[d], o.Step)-1)
		if last >= maxMixed/o.Step {
			return 0, o.tooLong()
		}
		if n := (last + 1) * o.Step; rows == 0 || n < rows == (o.Stop != StopAll) {
			rows = n
		}
	}
	return rows, nil
}

func (o EpochOptions) tooLong() error {
	return refuse("stop", "%q makes epochs of more than %d samples: give epoch_size", cmp.Or(o.Stop, StopFirst), int64(maxMixed))
}

// lastOf returns the source whose last sample ends the epoch.
func (o EpochOptions) lastOf(exact []*big.Rat) int {
	best, least := -1, new(big.Rat)
	for d, w := range exact {
		if w.Sign() == 0 {
			continue
		}
		n := new(big.Rat).Quo(new(big.Rat).SetInt64(o.Rows[d]), w)
		if c := n.Cmp(least); best < 0 || c < 0 && o.Stop != StopAll || c > 0 && o.Stop == StopAll {
			best, least = d, n
		}
	}
	return best
}

// divided returns the samples of each source in rows, or nil unless all make whole steps.
func (o EpochOptions) divided(rows int64, exact []*big.Rat) (counts []int64) {
	all := new(big.Rat)
	for _, w := range exact {
		all.Add(all, w)
	}
	for _, w := range exact {
		n := new(big.Rat).Mul(w, big.NewRat(rows/o.Step, 1))
		if n.Quo(n, all); !n.IsInt() {
			return nil
		}
		counts = append(counts, n.Num().Int64()*o.Step)
	}
	return counts
}

// whole rounds counts up to whole steps and returns their sum.
func (o EpochOptions) whole(counts []int64) (rows int64, _ []int64, err error) {
	for d, n := range counts {
		if counts[d] = ceilDiv(n, o.Step) * o.Step; n > maxMixed-o.Step-rows {
			return 0, nil, refuse("epoch_size", "must be at most %d samples, got more", int64(maxMixed))
		}
		rows += counts[d]
	}
	return rows, counts, nil
}

// rounded rounds to the nearest whole number, halves up.
func rounded(x *big.Rat) *big.Int {
	twice := new(big.Int).Lsh(x.Num(), 1)
	twice.Add(twice, x.Denom())
	return twice.Quo(twice, new(big.Int).Lsh(x.Denom(), 1))
}

// A Portion is a source that [Portions] allots buffer to.
type Portion struct {
	Weight int64 // of 2^20
	Rows   int64 // samples
	Bytes  int64 // of all of them; 1 a row divides a buffer of rows
}

// Portions divides a shuffle buffer among sources, in samples, in proportion to their weights, so
// that samples of all sources stay in it equally long. A source gets at most all of its samples;
// the excess is divided among the others.
func Portions(size int64, all []Portion) []int64 {
	out := make([]int64, len(all))
	full := make([]bool, len(all))
	for again := true; again; {
		left, each := size, int64(0) // share of the sources that are not full, of 2^20 samples
		for d, p := range all {
			if full[d] {
				left -= out[d] * p.sampleBytes()
			} else {
				each += p.Weight * p.sampleBytes()
			}
		}
		again = false
		for d, p := range all {
			if full[d] {
				continue
			}
			out[d] = max(1, mulDiv(max(0, left), p.Weight, max(1, each)))
			if out[d] >= p.Rows {
				out[d], full[d], again = max(1, p.Rows), true, true
			}
		}
	}
	return out
}

func (p Portion) sampleBytes() int64 { return max(1, p.Bytes/max(1, p.Rows)) }
