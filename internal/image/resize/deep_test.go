package resize_test

import (
	"image"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shardfeed/shardfeed/internal/image/resize"
)

// Random sizes, boxes within samples and extreme values of 16 bits differ from the definition in
// floats by 1 of 65,535 at most, with a Resizer that scales pictures of 8 bits between them.
func TestDeepResizeOfNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var both resize.Resizer
	for i := range 120 {
		w, h := 1+r.IntN(70), 1+r.IntN(70)
		values, pixels := make([]float64, 3*w*h), make([]byte, 6*w*h)
		for i := range values {
			v := uint16(r.Uint32())
			if i%2 == 0 {
				v = uint16(65535 * r.IntN(2)) // overshoot
			}
			values[i], pixels[2*i], pixels[2*i+1] = float64(v), byte(v>>8), byte(v)
		}
		x, y, f := noisySpan(r, w), noisySpan(r, h), resize.Filter(i%2)
		narrow := resize.Source{RGB: pixels[:3*w*h], Rect: image.Rect(0, 0, w, h)}
		want := run(narrow, x, y, f)
		both.Resize(resize.Source{RGB: pixels, Rect: narrow.Rect, Deep: true}, x, y, f, func(row int, pixels resize.Row) {
			for at, p := range pixels {
				for c := range 3 {
					exact := weighBoth(values, w, x, y, at, row, c, f)
					if got := float64(p >> (c * resize.Lane) & 0xffff); math.Abs(got-exact) > 1 {
						t.Fatalf("%d x %d by %+v, %+v, filter %d: channel %d of %d, %d is %v, want %v", w, h, x, y, f, c, at, row, got, exact)
					}
				}
			}
		})
		if i%5 == 0 {
			at := 0
			both.Resize(narrow, x, y, f, func(_ int, row resize.Row) {
				for _, p := range row {
					if r, g, b := resize.Unpack(p); [3]byte{r, g, b} != [3]byte(want[at:]) {
						t.Fatal("a picture of 8 bits differs after one of 16")
					}
					at += 3
				}
			})
		}
	}
}

func noisySpan(r *rand.Rand, n int) resize.Span {
	from := r.Float64() * float64(n) / 2
	s := resize.Span{In0: from, In1: from + 0.3 + r.Float64()*(float64(n)-from-0.3), Out: 1 + r.IntN(50)}
	s.Lo, s.Hi, s.To = int(from), min(n, int(s.In1)+1), s.Out
	return s
}

// weighBoth is an output by the definition, without rounding between the directions.
func weighBoth(values []float64, w int, x, y resize.Span, column, row, c int, f resize.Filter) float64 {
	across, down := weights(x, column, f), weights(y, row, f)
	sum := 0.0
	for i, u := range down {
		for j, v := range across {
			sum += u * v * values[3*((y.Lo+i)*w+x.Lo+j)+c]
		}
	}
	return max(0, min(65535, sum))
}

// weights are the weights of all samples of a span for an output.
func weights(s resize.Span, out int, f resize.Filter) (all []float64) {
	scale := (s.In1 - s.In0) / float64(s.Out)
	center, total := s.In0+(float64(out)+0.5)*scale, 0.0
	for j := s.Lo; j < s.Hi; j++ {
		k := kernel(math.Abs(float64(j)+0.5-center)/max(scale, 1), f)
		all, total = append(all, k), total+k
	}
	for i := range all {
		all[i] /= total
	}
	return all
}

// White and black stay what they are.
func TestDeepen(t *testing.T) {
	row := resize.Row{resize.Pack[byte](255, 0, 1), resize.Pack[byte](128, 255, 255)}
	row.Deepen()
	if want := (resize.Row{resize.Pack[uint16](65535, 0, 257), resize.Pack[uint16](128*257, 65535, 65535)}); row[0] != want[0] || row[1] != want[1] {
		t.Errorf("%x, want %x", row, want)
	}
}
