package mem

import (
	"math"
	"math/bits"
)

// MulDiv is floor(a*b/c), or the largest int64 where that is more; 0 where a or b is negative, or c
// not positive.
func MulDiv(a, b, c int64) int64 {
	if a < 0 || b < 0 || c <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(q, math.MaxInt64))
}

// Add returns a+b, or the largest int64 if that is more. Neither is negative.
func Add(a, b int64) int64 { return a + min(b, math.MaxInt64-a) }
