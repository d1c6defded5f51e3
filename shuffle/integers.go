package shuffle

import "math/bits"

// ceilDiv is ceil(a/b) for a >= 0, b > 0.
func ceilDiv(a, b int64) int64 { return a/b + min(1, a%b) }

// mulDiv is floor(a*b/c) for a, b >= 0 and c > 0, capped at the largest int64.
func mulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return 1<<63 - 1
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(q, 1<<63-1))
}

// mulLE says a*b <= c*d, all >= 0.
func mulLE(a, b, c, d int64) bool {
	h1, l1 := bits.Mul64(uint64(a), uint64(b))
	h2, l2 := bits.Mul64(uint64(c), uint64(d))
	return h1 < h2 || h1 == h2 && l1 <= l2
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// capped is at most the largest int64.
func capped(n uint64) uint64 { return min(n, 1<<63-1) }

// mulAddDiv is floor((a*b + c) / d) for d > 0, capped at 2^63-1.
func mulAddDiv(a, b, c, d uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	lo, carry := bits.Add64(lo, c, 0)
	hi += carry
	if hi >= d {
		return 1<<63 - 1
	}
	q, _ := bits.Div64(hi, lo, d)
	return capped(q)
}
