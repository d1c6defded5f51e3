package shuffle

import (
	"math/bits"
	"sort"
)

// dealTries is the number of steps that a deal chooses from.
const dealTries = 64

// A deal divides the numbers 0, 1, 2, .. among items: number x is at x*step mod total on a circle,
// where each item has an arc as long as its weight. Any total numbers in a row reach each place
// once, so they are divided exactly, and the step makes shorter runs, also of every L-th number,
// almost as even. It is immutable.
type deal struct {
	total, step uint64
	ends        []uint64 // of the arcs, by item
}

// newDeal divides numbers among items by weight; lanes is the number of lanes that take turns at
// them.
func newDeal(weights []int64, lanes int, seed uint64) *deal {
	d := &deal{ends: make([]uint64, len(weights))}
	for i, w := range weights {
		d.total += uint64(w)
		d.ends[i] = d.total
	}
	d.step = dealStep(d.total, lanes, seed)
	return d
}

// dealStep is the candidate that is poorly approximated by fractions with small denominators, and
// whose multiples by the divisors of lanes are too.
func dealStep(total uint64, lanes int, seed uint64) uint64 {
	var strides []uint64
	for s := uint64(1); s <= uint64(lanes); s++ {
		if uint64(lanes)%s == 0 {
			strides = append(strides, s)
		}
	}
	r := newRNG(domMix, seed, total)
	step, least := uint64(0), ^uint64(0)
	for range dealTries {
		c := r.below(total)
		for gcd(int64(c), int64(total)) != 1 {
			c = (c + 1) % total
		}
		most := uint64(0)
		for _, s := range strides {
			most = max(most, largestQuotient(mulMod(c, s, total), total))
		}
		if most < least {
			step, least = c, most
		}
	}
	return step
}

// largestQuotient returns the largest term of the continued fraction of a/b. The smaller it is, the
// more evenly the multiples of a are spread modulo b.
func largestQuotient(a, b uint64) (most uint64) {
	for a > 0 {
		most, a, b = max(most, b/a), b%a, a
	}
	return most
}

// arc of an item: [from, to) on the circle.
func (d *deal) arc(item int) (from, to uint64) {
	if item > 0 {
		from = d.ends[item-1]
	}
	return from, d.ends[item]
}

// weight of an item, of total.
func (d *deal) weight(item int) uint64 {
	from, to := d.arc(item)
	return to - from
}

// A row is every step-th number of a deal, its own numbers counted from 0: number n is at
// (first + n*step) mod total.
type dealRow struct {
	*deal
	first, step uint64
	period      uint64 // after which the places repeat
}

// row of the numbers from, from+by, from+2*by, ..
func (d *deal) row(from, by uint64) dealRow {
	r := dealRow{deal: d, first: mulMod(from, d.step, d.total), step: mulMod(by, d.step, d.total)}
	r.period = d.total / uint64(gcd(int64(r.step), int64(d.total)))
	return r
}

// count returns how many of the first n numbers belong to an item.
func (r dealRow) count(item int, n int64) int64 {
	from, to := r.arc(item)
	if from == to || n == 0 {
		return 0
	}
	// floor((y+total-a)/total) is 1 more for y in [a, total) than below, summed over y mod total.
	sum := func(a uint64) uint64 { return floorSum(uint64(n), r.total, r.step, r.first+r.total-a) }
	return int64(sum(from) - sum(to))
}

// place returns the number at which an item has its k-th turn, counted from 0, or Never.
func (r dealRow) place(item int, k int64) int64 {
	each := r.count(item, int64(r.period))
	if each == 0 {
		return Never
	}
	rounds := k / each
	k -= rounds * each
	first := mulAddDiv(uint64(rounds), r.period, 0, 1)
	if first >= Never {
		return Never
	}
	lo, hi := r.bracket(item, k, each)
	n := lo + int64(sort.Search(int(hi-lo), func(n int) bool { return r.count(item, lo+int64(n)+1) > k }))
	return int64(min(first+uint64(n), Never))
}

// bracket returns a range [lo, hi] that holds the k-th turn of an item with each turns in a period.
func (r dealRow) bracket(item int, k, each int64) (lo, hi int64) {
	gap := int64(r.period)/each + 1
	guess := mulDiv(k, int64(r.period), each)
	lo, hi = guess, min(guess+gap, int64(r.period)-1)
	for by := gap; lo > 0 && r.count(item, lo) > k; by *= 2 {
		hi, lo = lo, max(0, lo-by)
	}
	for by := gap; hi < int64(r.period)-1 && r.count(item, hi+1) <= k; by *= 2 {
		lo, hi = hi, min(hi+by, int64(r.period)-1)
	}
	return lo, hi
}

// A dealWalk yields the items of a row's numbers in order.
type dealWalk struct {
	ends            []uint64
	at, step, total uint64
}

// walk from number n on.
func (r dealRow) walk(n int64) dealWalk {
	at := (r.first + mulMod(uint64(n), r.step, r.total)) % r.total
	return dealWalk{ends: r.ends, at: at, step: r.step, total: r.total}
}

// next is the item of the next number.
func (w *dealWalk) next() int {
	lo, hi := 0, len(w.ends)-1
	for lo < hi {
		if mid := (lo + hi) / 2; w.ends[mid] > w.at {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if w.at += w.step; w.at >= w.total {
		w.at -= w.total
	}
	return lo
}

// floorSum is the sum of floor((a*m + b) / t) over m in [0, n), modulo 2^64, for a, b and t below
// 2^63 and t > 0. It takes a Euclidean algorithm's steps.
func floorSum(n, t, a, b uint64) (sum uint64) {
	for n > 0 {
		pairs := n / 2 * (n - 1)
		if n%2 == 1 {
			pairs = n * ((n - 1) / 2)
		}
		sum += pairs*(a/t) + n*(b/t)
		a, b = a%t, b%t
		hi, lo := bits.Mul64(a, n)
		lo, carry := bits.Add64(lo, b, 0)
		n, b = bits.Div64(hi+carry, lo, t) // at most n
		t, a = a, t
	}
	return sum
}

// mulMod is a*b mod m.
func mulMod(a, b, m uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return bits.Rem64(hi, lo, m)
}
