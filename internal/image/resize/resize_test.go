package resize_test

import (
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/image/imagetest"
	"github.com/shardfeed/shardfeed/internal/image/resize"
	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// run is the wanted part of a resize as RGB.
func run(s resize.Source, x, y resize.Span, f resize.Filter) []byte {
	var r resize.Resizer
	var got []byte
	r.Resize(s, x, y, f, func(_ int, row resize.Row) {
		for _, p := range row {
			r, g, b := resize.Unpack(p)
			got = append(got, r, g, b)
		}
	})
	return got
}

// Results are those of Pillow and torchvision v2 within 1 of 255, in few values.
func TestResize(t *testing.T) {
	corpus := imagetest.Corpus(t)
	pixels, all := imagetest.RGB(t, corpus["photo.png"])
	shares := map[string]float64{}
	n := 0
	for name, data := range corpus {
		what, ok := strings.CutPrefix(name, "resize/")
		if !ok {
			continue
		}
		n++
		t.Run(what, func(t *testing.T) {
			parts := strings.Split(strings.TrimSuffix(what, ".png"), "-")
			var v [6]int
			if _, err := fmt.Sscan(strings.Join(parts[2:], " "), &v[0], &v[1], &v[2], &v[3], &v[4], &v[5]); err != nil {
				t.Fatal(err)
			}
			f := resize.Bilinear
			if parts[1] == "bicubic" {
				f = resize.Bicubic
			}
			want, _ := imagetest.RGB(t, data)
			got := run(resize.Source{RGB: pixels, Rect: all}, resize.Whole(v[0], v[2]-v[0], v[4]), resize.Whole(v[1], v[3]-v[1], v[5]), f)
			most, share := imagetest.Differ(t, got, want)
			if most > 1 {
				t.Errorf("a value differs by %d, at most 1 is allowed; %.1f%% differ", most, 100*share)
			}
			key := parts[0] + " " + parts[1]
			shares[key] = max(shares[key], share)
		})
	}
	if n < 48 {
		t.Errorf("the corpus has %d resizes", n)
	}
	t.Logf("largest share of values that differ by 1: %v", shares)
}

// reference is Pillow's algorithm in floats: columns first, each direction rounded to 8 bits.
func reference(pixels []byte, w, h int, x, y resize.Span, f resize.Filter) []byte {
	middle := make([]byte, 3*x.Out*h)
	for row := range h {
		for i := range x.Out {
			for c := range 3 {
				middle[3*(row*x.Out+i)+c] = weigh(x, i, f, func(j int) byte { return pixels[3*(row*w+j)+c] })
			}
		}
	}
	out := make([]byte, 3*x.Out*y.Out)
	for i := range y.Out {
		for k := range 3 * x.Out {
			out[3*x.Out*i+k] = weigh(y, i, f, func(j int) byte { return middle[3*x.Out*j+k] })
		}
	}
	return out
}

func weigh(s resize.Span, out int, f resize.Filter, at func(int) byte) byte {
	scale := (s.In1 - s.In0) / float64(s.Out)
	wide := max(scale, 1)
	center := s.In0 + (float64(out)+0.5)*scale
	sum, total := 0.0, 0.0
	for j := s.Lo; j < s.Hi; j++ {
		k := kernel(math.Abs(float64(j)+0.5-center)/wide, f)
		sum += k * float64(at(j))
		total += k
	}
	return byte(max(0, min(255, math.Floor(sum/total+0.5))))
}

// kernel is a filter's value at a distance.
func kernel(d float64, f resize.Filter) float64 {
	switch {
	case f == resize.Bilinear:
		return max(0, 1-d)
	case d < 1:
		return 1.5*d*d*d - 2.5*d*d + 1
	case d < 2:
		return -0.5*d*d*d + 2.5*d*d - 4*d + 2
	}
	return 0
}

// Random sizes, boxes within samples, and extreme values differ from the definition by 1 at most.
func TestResizeOfNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 120 {
		w, h := 1+r.IntN(70), 1+r.IntN(70)
		pixels := make([]byte, 3*w*h)
		for i := range pixels {
			pixels[i] = byte(r.Uint32())
			if i%2 == 0 {
				pixels[i] = byte(255 * r.IntN(2)) // overshoot
			}
		}
		x, y := noisySpan(r, w), noisySpan(r, h)
		f := resize.Filter(i % 2)
		want := reference(pixels, w, h, x, y, f)
		got := run(resize.Source{RGB: pixels, Rect: image.Rect(0, 0, w, h)}, x, y, f)
		if most, share := imagetest.Differ(t, got, want); most > 1 {
			t.Errorf("%d x %d by %+v, %+v, filter %d: a value differs by %d; %.1f%% differ", w, h, x, y, f, most, 100*share)
		}
	}
}

// A window of the outputs is a part of the whole, made of the samples that Needs names alone.
func TestWindow(t *testing.T) {
	corpus := imagetest.Corpus(t)
	pixels, all := imagetest.RGB(t, corpus["photo.png"])
	for _, f := range []resize.Filter{resize.Bilinear, resize.Bicubic} {
		x, y := resize.Whole(0, all.Dx(), 40), resize.Whole(0, all.Dy(), 31)
		whole := run(resize.Source{RGB: pixels, Rect: all}, x, y, f)
		x.From, x.To, y.From, y.To = 7, 33, 5, 20
		var r image.Rectangle
		r.Min.X, r.Max.X = x.Needs(f)
		r.Min.Y, r.Max.Y = y.Needs(f)
		if r == all {
			t.Fatal("the window needs everything")
		}
		var part []byte
		for y := r.Min.Y; y < r.Max.Y; y++ {
			part = append(part, pixels[3*(y*all.Dx()+r.Min.X):3*(y*all.Dx()+r.Max.X)]...)
		}
		got := run(resize.Source{RGB: part, Rect: r}, x, y, f)
		for row := range 15 {
			want := whole[3*((row+5)*40+7):][:3*26]
			if string(got[3*26*row:][:3*26]) != string(want) {
				t.Errorf("filter %d: row %d of the window differs", f, row)
			}
		}
	}
}

func BenchmarkResize(b *testing.B) {
	pixels := make([]byte, 3*370*277)
	for i := range pixels {
		pixels[i] = byte(i * 7)
	}
	for _, f := range []resize.Filter{resize.Bilinear, resize.Bicubic} {
		b.Run(fmt.Sprint(f), func(b *testing.B) {
			var r resize.Resizer
			for b.Loop() {
				r.Resize(resize.Source{RGB: pixels, Rect: image.Rect(0, 0, 370, 277)}, resize.Whole(0, 370, 224), resize.Whole(0, 277, 224), f, func(int, resize.Row) {})
			}
		})
	}
}
