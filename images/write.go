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

// An element is a type of the elements of tensors.
type element interface{ uint8 | uint16 | uint32 }

// A table has an element for each sample of 8 or of 16 bits.
type table[T element] interface{ [1 << 8]T | [1 << 16]T }

// A tensor is a writer of elements of type T, made of samples by a table for each channel.
type tensor[T element, A table[T]] struct {
	table  [3]A
	each   int // channels of a pixel: 3, or 4 with alpha, which another writer writes
	dst    []T
	height int
	layout Layout
	flip   bool
}

// newWriter returns the writer of rows of 8 or 16 bits. Floats are from 0 to 1, or normalised.
func newWriter(o Options, bits int) writer { return newWriterAt(o, bits, 0, 1) }

// newAlpha returns the writer of the fourth channel. Floats are from 0 to 1.
func newAlpha(o Options, bits int) writer {
	o.Mean, o.Std, o.Channels = [3]float32{}, [3]float32{1, 1, 1}, 1
	if o.Layout == HWC {
		return newWriterAt(o, bits, 3, 4)
	}
	return newWriterAt(o, bits, 3*o.Height*o.Width, 1)
}

// newWriterAt places one channel in a tensor.
func newWriterAt(o Options, bits, first, step int) writer {
	most := float32(int(1)<<bits - 1)
	level := func(c, v int) float32 { return (float32(v)/most - o.Mean[c]) / o.Std[c] }
	switch o.DType {
	case Float32:
		return writerOf(o, bits, first, step, func(c, v int) uint32 { return math.Float32bits(level(c, v)) })
	case Float16:
		return writerOf(o, bits, first, step, func(c, v int) uint16 { return half.Of32(level(c, v)) })
	case BFloat16:
		return writerOf(o, bits, first, step, func(c, v int) uint16 { return half.Brain(level(c, v)) })
	case Uint16:
		return writerOf(o, bits, first, step, func(_, v int) uint16 { return uint16(v) })
	}
	switch {
	case o.Channels == 1 && step == 1:
		return &samples{first: first, planes: 1, height: o.Height}
	case o.Channels > 1 && o.Layout == CHW:
		return &samples{planes: 3, height: o.Height}
	}
	return writerOf(o, bits, first, step, func(_, v int) uint8 { return uint8(v) })
}

// writerOf makes the tables: of is the element of a channel's sample.
func writerOf[T element](o Options, bits, first, step int, of func(c, v int) T) writer {
	switch {
	case o.Channels == 1:
		p := &plane[T]{table: make([]T, 1<<bits), first: first, step: step}
		for v := range p.table {
			p.table[v] = of(0, v)
		}
		return p
	case bits > 8:
		return newTensor[T, [1 << 16]T](o, of)
	}
	return newTensor[T, [1 << 8]T](o, of)
}

func newTensor[T element, A table[T]](o Options, of func(c, v int) T) *tensor[T, A] {
	t := &tensor[T, A]{each: o.Channels, height: o.Height, layout: o.Layout}
	for c := range t.table {
		for v := range len(t.table[c]) {
			t.table[c][v] = of(c, v)
		}
	}
	return t
}

// to starts an image at dst.
func (t *tensor[T, A]) to(dst []byte, flip bool) (err error) {
	t.dst, err = elements[T](dst)
	t.flip = flip
	return err
}

func (t *tensor[T, A]) end() error { return nil }

func (t *tensor[T, A]) row(y int, row resize.Row) {
	w := len(row)
	mask := uint64(len(t.table[0]) - 1)
	if t.layout == HWC {
		from, step, o := 0, t.each, t.dst[t.each*y*w:][:t.each*w]
		if t.flip {
			from, step = t.each*(w-1), -t.each
		}
		for _, p := range row {
			at := o[from:][:3]
			at[0], at[1], at[2] = t.table[0][p&mask], t.table[1][p>>resize.Lane&mask], t.table[2][p>>(2*resize.Lane)&mask]
			from += step
		}
		return
	}
	plane := t.height * w
	red, green, blue := t.dst[y*w:][:w], t.dst[plane+y*w:][:w], t.dst[2*plane+y*w:][:w]
	if t.flip {
		for x, p := range row {
			x := w - 1 - x
			red[x], green[x], blue[x] = t.table[0][p&mask], t.table[1][p>>resize.Lane&mask], t.table[2][p>>(2*resize.Lane)&mask]
		}
		return
	}
	for x, p := range row {
		red[x], green[x], blue[x] = t.table[0][p&mask], t.table[1][p>>resize.Lane&mask], t.table[2][p>>(2*resize.Lane)&mask]
	}
}

// A samples is a writer of planes of uint8 whose elements are the samples themselves.
type samples struct {
	dst    []byte
	first  int // where the planes start: alpha is behind three channels
	planes int // 1 or 3
	height int
	flip   bool
}

func (s *samples) to(dst []byte, flip bool) error {
	s.dst, s.flip = dst, flip
	return nil
}

func (s *samples) end() error { return nil }

func (s *samples) row(y int, row resize.Row) {
	at, plane := s.first+y*len(row), s.height*len(row)
	if s.planes == 1 {
		row.Plane(s.dst[at:], s.flip)
		return
	}
	row.Planes(s.dst[at:], s.dst[plane+at:], s.dst[2*plane+at:], s.flip)
}
