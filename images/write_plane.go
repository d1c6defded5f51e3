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
}

// newPlane makes the table for samples of 8 or 16 bits. Floats are the samples
// divided by 255 or 65,535.
func newPlane(o Options, bits int) writer {
	switch o.DType {
	case Float32:
		return floats(o, bits, math.Float32bits)
	case Float16:
		return floats(o, bits, half.Of32)
	case BFloat16:
		return floats(o, bits, half.Brain)
	case Uint16:
		return integers[uint16](bits)
	}
	return integers[uint8](bits)
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
	o, mask := t.dst[y*len(row):][:len(row)], uint64(len(t.table)-1)
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
