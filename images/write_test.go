package images

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"testing"

	"github.com/shardfeed/shardfeed/internal/half"
	"github.com/shardfeed/shardfeed/internal/image/resize"
)

// Each type and layout, flipped or not, has the value that its definition says.
func TestWrite(t *testing.T) {
	const w, h = 5, 3
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	rows := make([]resize.Row, h)
	for y := range h {
		for x := range w {
			r, g, b := byte(x*50), byte(y*80), byte(255-x*y)
			m.Set(x, y, color.RGBA{r, g, b, 255})
			rows[y] = append(rows[y], resize.Pack(r, g, b))
		}
	}
	mean, std := [3]float32{0.485, 0.456, 0.406}, [3]float32{0.229, 0.224, 0.225}
	for _, layout := range []Layout{CHW, HWC} {
		for _, dtype := range []DType{Uint8, Float32, Float16, BFloat16} {
			for _, flip := range []bool{false, true} {
				t.Run(fmt.Sprint(layout, dtype, flip), func(t *testing.T) {
					o := Options{Height: h, Width: w, Layout: layout, DType: dtype}
					if dtype != Uint8 {
						o.Mean, o.Std = mean, std
					}
					o = o.withDefaults()
					dst := make([]byte, o.Bytes())
					wr := newWriter(o, 8)
					if err := wr.to(dst, flip); err != nil {
						t.Fatal(err)
					}
					for y, row := range rows {
						wr.row(y, row)
					}
					for y := range h {
						for x := range w {
							for c := range 3 {
								from := x
								if flip {
									from = w - 1 - x
								}
								v := m.Pix[m.PixOffset(from, y)+c]
								at := (c*h+y)*w + x
								if layout == HWC {
									at = (y*w+x)*3 + c
								}
								exact := (float64(v)/255 - float64(mean[c])) / float64(std[c])
								got, within := value(dst, at, dtype), map[DType]float64{Uint8: 0, Float32: 1e-6, Float16: 1e-3, BFloat16: 8e-3}[dtype]
								if dtype == Uint8 {
									exact = float64(v)
								}
								if math.Abs(got-exact) > within*max(1, math.Abs(exact)) {
									t.Fatalf("channel %d of %d, %d is %v, want %v", c, x, y, got, exact)
								}
							}
						}
					}
				})
			}
		}
	}
}

// value reads an element.
func value(b []byte, i int, d DType) float64 {
	n := d.size()
	bits := uint32(0)
	for k := range n {
		bits |= uint32(b[i*n+k]) << (8 * k)
	}
	switch d {
	case Float32:
		return float64(math.Float32frombits(bits))
	case BFloat16:
		return float64(math.Float32frombits(bits << 16))
	case Float16:
		return float64(half.Value(uint16(bits)))
	}
	return float64(bits)
}
