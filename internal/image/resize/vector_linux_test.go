package resize

import (
	"image"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"
)

// guarded is memory before a page that must not be read.
func guarded(t *testing.T, n int) []byte {
	t.Helper()
	page := os.Getpagesize()
	whole := (n + page - 1) / page * page
	m, err := syscall.Mmap(-1, 0, whole+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err == nil {
		err = syscall.Mprotect(m[whole:], syscall.PROT_NONE)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(m) })
	return m[whole-n : whole : whole]
}

// Vector instructions make the same pixels as words of three channels, and read nothing behind the
// source: sizes from one pixel up, boxes within samples, and values that overflow soonest.
func TestVectors(t *testing.T) {
	if !canVector() {
		t.Skip("there are no vector instructions here")
	}
	r := rand.New(rand.NewPCG(9, 1))
	var vectors Resizer
	used := 0
	for i := range 600 {
		w, h := 1+r.IntN(90), 1+r.IntN(60)
		left, top := r.IntN(5), r.IntN(5)
		pixels := guarded(t, 3*w*h)
		for i := range pixels {
			if pixels[i] = byte(r.Uint32()); i%3 == 0 {
				pixels[i] = byte(255 * r.IntN(2))
			}
		}
		span := func(first, n int) Span {
			from := r.Float64() * float64(n) / 2
			s := Span{In0: float64(first) + from, In1: float64(first) + from + 0.3 + r.Float64()*(float64(n)-from-0.3), Lo: first, Hi: first + n}
			s.Out = 1 + r.IntN(50)
			s.From = r.IntN(s.Out)
			s.To = s.From + 1 + r.IntN(s.Out-s.From)
			return s
		}
		x, y := span(left, w), span(top, h)
		s := Source{RGB: pixels, Rect: image.Rect(left, top, left+w, top+h)}
		f := Filter(i % 2)
		rows := func(o *Resizer) (all Row) {
			o.Resize(s, x, y, f, func(_ int, row Row) { all = append(all, row...) })
			return all
		}
		got, want := rows(&vectors), rows(&Resizer{scalar: true})
		if !slices.Equal(got, want) {
			t.Fatalf("%v by %+v and %+v, filter %d: the pixels differ", s.Rect, x, y, f)
		}
		if w >= 4*vectors.vector.quads {
			used++
		}
	}
	if used < 200 {
		t.Errorf("vectors were used %d times", used)
	}
}
