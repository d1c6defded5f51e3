package footer

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestPacked(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		name  string
		n     int
		value func(i int) int64
		width int
	}{
		{"none", 0, nil, 0},
		{"equal", 10, func(int) int64 { return 1 << 40 }, 0},
		{"one byte", 10, func(i int) int64 { return 1<<40 + int64(i)*28 }, 1},
		{"two bytes", 10, func(i int) int64 { return int64(i) * 1000 }, 2},
		{"three bytes take four", 10, func(i int) int64 { return int64(i) * 1 << 19 }, 4},
		{"five bytes take eight", 10, func(i int) int64 { return int64(i) << 33 }, 8},
		{"all there are", 3, func(i int) int64 { return []int64{0, math.MaxInt64, 5}[i] }, 8},
		{"random", 1000, func(int) int64 { return random.Int64N(1 << 30) }, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			values := make([]int64, c.n)
			for i := range values {
				values[i] = c.value(i)
			}
			b := appendPacked([]byte("before"), c.n, func(i int) int64 { return values[i] })[6:]
			if len(b) != packedHeader+c.n*c.width {
				t.Errorf("%d bytes", len(b))
			}
			p, rest, err := takePacked(append(b, "after"...), c.n)
			if err != nil || string(rest) != "after" {
				t.Errorf("error %v, rest %q", err, rest)
				return
			}
			for i, v := range values {
				if p.At(i) != v {
					t.Errorf("value %d is %d, want %d", i, p.At(i), v)
				}
			}
			if c.width > 0 {
				if _, _, err := takePacked(b[:len(b)-1], c.n); err == nil {
					t.Errorf("%s: a byte less is no error", c.name)
				}
			}
		})
	}
	for _, b := range [][]byte{nil, make([]byte, 8), {3, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 0x80}} {
		if _, _, err := takePacked(b, 1); err == nil {
			t.Errorf("%x is no error", b)
		}
	}
}
