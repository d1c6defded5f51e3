package shuffle

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strconv"
)

// wholeWeight is T, the sum of the integer weights of a ratio.
const wholeWeight = 1 << 20

// maxWeights of a ratio.
const maxWeights = 4096

// Ratio divides numbered things by weight: the rows of a manifest among parts. Every prefix is
// divided almost exactly, and every 2^20 in a row exactly. See the package documentation. It is
// immutable and safe for concurrent use.
type Ratio struct {
	weights []int64
	levels  []level // by falling weight, without zero weights
}

// level is one step of the nested floors: weight in every rest arrivals go to its item, the others
// to the next level.
type level struct {
	item         int
	weight, rest uint64
}

// NewRatio makes integer weights of the shortest decimals of weights: at least 1 of 2^20 for each
// positive one.
func NewRatio(weights []float64) (*Ratio, error) {
	if err := checkWeights(weights); err != nil {
		return nil, err
	}
	return newRatio(decimals(weights)), nil
}

// NewTokenRatio divides samples so that their tokens have the given weights: it is the exact ratio
// of weight * samples / tokens, for items with the given counts of samples and tokens. Items of
// weight 0 need no tokens.
func NewTokenRatio(weights []float64, samples, tokens []int64) (*Ratio, error) {
	if err := checkWeights(weights); err != nil {
		return nil, err
	}
	return newRatio(exactShares(weights, samples, tokens)), nil
}

// exactShares converts weights to exact weights of samples; they are weights of tokens if tokens is
// given.
func exactShares(weights []float64, samples, tokens []int64) []*big.Rat {
	exact := decimals(weights)
	for i, x := range exact {
		if tokens != nil && x.Sign() > 0 {
			x.Mul(x, big.NewRat(samples[i], tokens[i]))
		}
	}
	return exact
}

// newRatio of checked weights, which it changes.
func newRatio(exact []*big.Rat) *Ratio {
	r := &Ratio{weights: wholeWeights(exact)}
	for i, w := range r.weights {
		if w > 0 {
			r.levels = append(r.levels, level{item: i, weight: uint64(w)})
		}
	}
	slices.SortStableFunc(r.levels, func(a, b level) int { return cmp.Compare(b.weight, a.weight) })
	rest := uint64(wholeWeight)
	for j := range r.levels {
		r.levels[j].rest = rest
		rest -= r.levels[j].weight
	}
	return r
}

func checkWeights(weights []float64) error {
	if len(weights) > maxWeights {
		return refuse("weights", "must be at most %d, got %d", maxWeights, len(weights))
	}
	var most float64
	for i, w := range weights {
		if !(w >= 0) || math.IsInf(w, 1) {
			return refuse("weights", "must be numbers of at least 0, got %v for weight %d", w, i)
		}
		most = max(most, w)
	}
	if most == 0 {
		return refuse("weights", "must have one above 0, got %v", weights)
	}
	return nil
}

// wholeWeights returns integers that add up to T: the floor of each exact share of T, at least 1
// unless it is 0. Missing units go to the largest remainders, equal ones in order; surplus comes
// off the largest, one by one. It changes exact.
func wholeWeights(exact []*big.Rat) []int64 {
	total := new(big.Rat)
	for _, x := range exact {
		total.Add(total, x)
	}
	out, left := make([]int64, len(exact)), int64(wholeWeight)
	for i, x := range exact {
		x.Quo(x.Mul(x, big.NewRat(wholeWeight, 1)), total)
		if x.Sign() > 0 {
			out[i] = max(1, new(big.Int).Quo(x.Num(), x.Denom()).Int64())
		}
		x.Sub(x, big.NewRat(out[i], 1))
		left -= out[i]
	}
	order := permIdentity(len(out))
	slices.SortStableFunc(order, func(a, b uint32) int { return exact[b].Cmp(exact[a]) })
	for i := int64(0); i < left; i++ { // fewer than have a remainder
		out[order[i]]++
	}
	for ; left < 0; left++ {
		out[slices.Index(out, slices.Max(out))]--
	}
	return out
}

// decimals returns the numbers as exact fractions of their shortest decimals.
func decimals(numbers []float64) (exact []*big.Rat) {
	for _, n := range numbers {
		x, _ := new(big.Rat).SetString(strconv.FormatFloat(n, 'g', -1, 64)) // a finite number always parses
		exact = append(exact, x)
	}
	return exact
}

// Weights returns the integer weights, which add up to 2^20. The caller must not change them.
func (r *Ratio) Weights() []int64 { return r.weights }

// Counts fills dst, grown as needed, with how many of the first n each has.
func (r *Ratio) Counts(n int64, dst []int64) []int64 {
	dst = append(dst[:0], make([]int64, len(r.weights))...)
	k := uint64(n)
	for _, v := range r.levels {
		next := mulAddDiv(k, v.rest-v.weight, 0, v.rest)
		dst[v.item], k = int64(k-next), next
	}
	return dst
}

// PartOrder fills dst, grown as needed, with the order in which n rows are given to the parts; row
// is the number of the first among all rows of the manifest. It is perm(n) of the generator "part".
func PartOrder(seed uint64, row int64, n int, dst []uint32) []uint32 {
	r := newRNG(domPart, seed, uint64(row))
	return permutation(&r, dst, n)
}
