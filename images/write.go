package images

import (
	"math"

	"github.com/shardfeed/shardfeed/internal/half"
	"github.com/shardfeed/shardfeed/internal/image/resize"
)

// A writer writes rows of pixels to an image's tensor, from top to bottom.
type writer interface {
	to(dst []byte, flip bool) error
	row(y int, row resize.Row)
	end() error // after the last row
}

// A tensor is a writer of elements of type T, made of bytes by a table for each channel.
type tensor[T uint8 | uint16 | uint32] struct {
	table  [3][256]T
	each   int // channels of a pixel: 3, or 4 with alpha, which another writer writes
	dst    []T
	height int
	layout Layout
	flip   bool
}

// newWriter makes the tables of the options.
func newWriter(o Options) writer {
	if o.Channels == 1 {
		return newPlane(o, 8)
	}
	switch o.DType {
	case Float32:
		return newTensor(o, math.Float32bits)
	case Float16:
		return newTensor(o, half.Of32)
	case BFloat16:
		return newTensor(o, half.Brain)
	}
	t := &tensor[uint8]{each: o.Channels, height: o.Height, layout: o.Layout}
	for c := range t.table {
		for v := range t.table[c] {
			t.table[c][v] = uint8(v)
		}
	}
	return t
}

func newTensor[T uint16 | uint32](o Options, bits func(float32) T) *tensor[T] {
	t := &tensor[T]{each: o.Channels, height: o.Height, layout: o.Layout}
	for c := range t.table {
		for v := range t.table[c] {
			t.table[c][v] = bits((float32(v)/255 - o.Mean[c]) / o.Std[c])
		}
	}
	return t
}

// to starts an image at dst.
func (t *tensor[T]) to(dst []byte, flip bool) (err error) {
	t.dst, err = elements[T](dst)
	t.flip = flip
	return err
}

func (t *tensor[T]) end() error { return nil }

func (t *tensor[T]) row(y int, row resize.Row) {
	w := len(row)
	from, step := 0, 1
	if t.flip {
		from, step = w-1, -1
	}
	if t.layout == HWC {
		o := t.dst[t.each*y*w:][:t.each*w]
		for _, p := range row {
			r, g, b := resize.Unpack(p)
			at := o[t.each*from:][:3]
			at[0], at[1], at[2] = t.table[0][r], t.table[1][g], t.table[2][b]
			from += step
		}
		return
	}
	plane := t.height * w
	red, green, blue := t.dst[y*w:][:w], t.dst[plane+y*w:][:w], t.dst[2*plane+y*w:][:w]
	if t.flip {
		for x, p := range row {
			r, g, b := resize.Unpack(p)
			x := w - 1 - x
			red[x], green[x], blue[x] = t.table[0][r], t.table[1][g], t.table[2][b]
		}
		return
	}
	for x, p := range row {
		r, g, b := resize.Unpack(p)
		red[x], green[x], blue[x] = t.table[0][r], t.table[1][g], t.table[2][b]
	}
}
