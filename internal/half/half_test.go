package half

import (
	"math"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestHalves goes through all float16: each becomes itself, and numbers between two of them the
// nearer one, or the even one.
func TestHalves(t *testing.T) {
	for h := uint16(0); h < Infinity; h++ {
		x, next := Value(h), Value(h+1)
		if h+1 == Infinity {
			next = 65536
		}
		even := h + h&1
		middle := x + (next-x)/2
		for _, c := range []struct {
			v    float32
			want uint16
		}{
			{x, h},
			{middle, even},
			{math.Nextafter32(middle, 0), h},
			{math.Nextafter32(middle, 1e9), h + 1},
		} {
			if got := Of32(c.v); got != c.want {
				t.Fatalf("%v is %#x, want %#x", c.v, got, c.want)
			}
			if got := Of(float64(c.v)); got != c.want {
				t.Fatalf("%v as float64 is %#x, want %#x", c.v, got, c.want)
			}
			if got := Of32(-c.v); got != c.want|0x8000 {
				t.Fatalf("%v is %#x, want %#x", -c.v, got, c.want|0x8000)
			}
		}
	}
	if h := Of32(float32(math.Inf(1))); h != Infinity {
		t.Errorf("infinity is %#x", h)
	}
	if x := Value(Of32(float32(math.NaN()))); x == x {
		t.Errorf("NaN is %v", x)
	}
}

func TestBrains(t *testing.T) {
	for _, c := range []struct {
		v    float32
		want uint16
	}{
		{1, 0x3f80},
		{-2, 0xc000},
		{math.Float32frombits(0x3f808000), 0x3f80}, // half way, to even
		{math.Float32frombits(0x3f818000), 0x3f82},
		{math.Float32frombits(0x3f808001), 0x3f81},
		{math.Float32frombits(0x3f807fff), 0x3f80},
		{math.MaxFloat32, BrainInfinity},
		{math.Float32frombits(1), 0},
		{float32(math.Inf(-1)), 0xff80},
		{math.Float32frombits(0x7f800001), 0x7fc0}, // NaN
	} {
		if got := Brain(c.v); got != c.want {
			t.Errorf("%v is %#x, want %#x", c.v, got, c.want)
		}
	}
}

// TestOf rounds float64 once: by way of float32 some of these would be another half.
func TestOf(t *testing.T) {
	for x, want := range map[float64]uint16{
		0: 0, math.Copysign(0, -1): 0x8000, 1: 0x3c00, -2: 0xc000, 65504: 0x7bff, 65519: 0x7bff, 65520: 0x7c00, -1e300: 0xfc00, 0x1p-24: 1, 2e-8: 0, 4e-8: 1,
		0x1p-14: 0x400, 0x1.ff8p-15: 0x3ff, 0x1.fffp-15: 0x400, 0.1: 0x2e66, 2047.9: 0x6800, 2049: 0x6800, 2051: 0x6802,
		1 + 0x1p-11 + 0x1p-40: 0x3c01, math.Inf(1): 0x7c00, math.Inf(-1): 0xfc00, math.NaN(): 0x7e00,
	} {
		if got := Of(x); got != want {
			t.Errorf("%v is %#x, want %#x", x, got, want)
		}
	}
}
