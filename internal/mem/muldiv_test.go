package mem

import (
	"math"
	"testing"
)

func TestMulDiv(t *testing.T) {
	for _, c := range []struct{ a, b, c, want int64 }{
		{7, 3, 2, 10},
		{1 << 62, 6, 8, 3 << 60},
		{0, 5, 1, 0},
		{1 << 40, 1 << 40, 1 << 41, 1 << 39},
		{1 << 62, 1 << 62, 2, math.MaxInt64},
		{math.MaxInt64, 3, 2, math.MaxInt64},
		{5, 5, 0, 0},
		{-1, 5, 1, 0},
	} {
		if got := MulDiv(c.a, c.b, c.c); got != c.want {
			t.Errorf("%d*%d/%d is %d, want %d", c.a, c.b, c.c, got, c.want)
		}
	}
}
