package paint

import (
	"math"
	"testing"

	"github.com/shardfeed/shardfeed/internal/image/resize"
)

// hueByDefinition is torchvision's arithmetic, step by step.
func hueByDefinition(r, g, b byte, by float32) uint64 {
	red, green, blue := float32(r)/255, float32(g)/255, float32(b)/255
	v := max(red, green, blue)
	span := v - min(red, green, blue)
	h, s := float32(0), float32(0)
	if span != 0 {
		rc, gc, bc := (v-red)/span, (v-green)/span, (v-blue)/span
		switch v {
		case red:
			h = bc - gc
		case green:
			h = 2 + rc - bc
		default:
			h = 4 + gc - rc
		}
		h, s = h/6+1, span/v
		h -= float32(math.Floor(float64(h)))
	}
	h += by
	h -= float32(math.Floor(float64(h)))
	i := float32(math.Floor(float64(float32(h * 6))))
	f := float32(h*6) - i
	p, q, t := v*(1-s), v*(1-float32(s*f)), v*(1-float32(s*(1-f)))
	c := [][3]float32{{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}}[int(i)%6]
	to := func(v float32) byte { return byte(v * (256 - 1e-3)) }
	return resize.Pack(to(c[0]), to(c[1]), to(c[2]))
}

func TestHue(t *testing.T) {
	var pixels, want resize.Row
	for _, by := range []float32{-0.5, -0.1, 0.03, 0.5} {
		pixels, want = pixels[:0], want[:0]
		for r := 0; r < 256; r += 5 {
			for g := 0; g < 256; g += 5 {
				for b := 0; b < 256; b += 3 {
					pixels = append(pixels, resize.Pack(byte(r), byte(g), byte(b)))
					want = append(want, hueByDefinition(byte(r), byte(g), byte(b), by))
				}
			}
		}
		before := append(resize.Row(nil), pixels...)
		hue(pixels, by)
		for i := range pixels {
			if pixels[i] != want[i] {
				r, g, b := resize.Unpack(before[i])
				t.Fatalf("%d, %d, %d by %v is %#x, want %#x", r, g, b, by, pixels[i], want[i])
			}
		}
	}
}
