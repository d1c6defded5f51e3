package images

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/shardfeed/shardfeed/internal/half"
	"github.com/shardfeed/shardfeed/internal/image/resize"
)

// A plane is a writer of one channel, the lowest bits of a row's pixels, by a table. Both layouts
// have the same bytes.
type plane[T uint8 | uint16 | uint32] struct {
	table []T
	dst   []T
	flip  bool

	// The place of the plane in the tensor: alpha is behind three channels. 0 and 1 is all of it.
	first, step int
}

// newPlane makes the table for samples of 8 or 16 bits. Floats are the samples
// divided by 255 or 65,535.
func newPlane(o Options, bits int) writer { return newPlaneAt(o, bits, 0, 1) }

// newAlpha returns the writer of the fourth channel. Floats are from 0 to 1.
func newAlpha(o Options) writer {
	o.Mean, o.Std = [3]float32{}, [3]float32{1, 1, 1}
	if o.Layout == HWC {
		return newPlaneAt(o, 8, 3, 4)
	}
	return newPlaneAt(o, 8, 3*o.Height*o.Width, 1)
}

// newPlaneAt places the plane in a tensor.
func newPlaneAt(o Options, bits, first, step int) writer {
	switch o.DType {
	case Float32:
		return floats(o, bits, math.Float32bits).at(first, step)
	case Float16:
		return floats(o, bits, half.Of32).at(first, step)
	case BFloat16:
		return floats(o, bits, half.Brain).at(first, step)
	case Uint16:
		return integers[uint16](bits).at(first, step)
	}
	return integers[uint8](bits).at(first, step)
}

func (t *plane[T]) at(first, step int) *plane[T] {
	t.first, t.step = first, step
	return t
}

func floats[T uint16 | uint32](o Options, bits int, of func(float32) T) *plane[T] {
	p := &plane[T]{table: make([]T, 1<<bits)}
	most := float32(len(p.table) - 1)
	for v := range p.table {
		p.table[v] = of((float32(v)/most - o.Mean[0]) / o.Std[0])
	}
	return p
}

func integers[T uint8 | uint16](bits int) *plane[T] {
	p := &plane[T]{table: make([]T, 1<<bits)}
	for v := range p.table {
		p.table[v] = T(v)
	}
	return p
}

func (t *plane[T]) to(dst []byte, flip bool) (err error) {
	t.dst, err = elements[T](dst)
	t.flip = flip
	return err
}

func (t *plane[T]) end() error { return nil }

func (t *plane[T]) row(y int, row resize.Row) {
	if t.step > 1 {
		t.spread(y, row)
		return
	}
	o, mask := t.dst[t.first+y*len(row):][:len(row)], uint64(len(t.table)-1)
	if t.flip {
		for x, p := range row {
			o[len(o)-1-x] = t.table[p&mask]
		}
		return
	}
	for x, p := range row {
		o[x] = t.table[p&mask]
	}
}

// spread writes a row among the other channels.
func (t *plane[T]) spread(y int, row resize.Row) {
	o, w := t.dst[t.step*y*len(row):][:t.step*len(row)], len(row)
	for x, p := range row {
		if t.flip {
			x = w - 1 - x
		}
		o[t.step*x+t.first] = t.table[p&255]
	}
}

// elements are the elements of type T in memory that is aligned for them.
func elements[T uint8 | uint16 | uint32](dst []byte) ([]T, error) {
	var element T
	size := int(unsafe.Sizeof(element))
	p := unsafe.Pointer(unsafe.SliceData(dst))
	if uintptr(p)%uintptr(size) != 0 {
		return nil, fmt.Errorf("images: the destination is not aligned to %d bytes", size)
	}
	return unsafe.Slice((*T)(p), len(dst)/size), nil
}
