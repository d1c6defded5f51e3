package images

import (
	"fmt"
	"unsafe"

	"github.com/shardfeed/shardfeed/internal/image/resize"
)

// A plane is a writer of one channel, the lowest bits of a row's pixels, by a table. Both layouts
// have the same bytes.
type plane[T element] struct {
	table []T
	dst   []T
	flip  bool

	// The place of the plane in the tensor: alpha is behind three channels. 0 and 1 is all of it.
	first, step int
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
	o, w, mask := t.dst[t.step*y*len(row):][:t.step*len(row)], len(row), uint64(len(t.table)-1)
	for x, p := range row {
		if t.flip {
			x = w - 1 - x
		}
		o[t.step*x+t.first] = t.table[p&mask]
	}
}

// elements are the elements of type T in memory that is aligned for them.
func elements[T element](dst []byte) ([]T, error) {
	var element T
	size := int(unsafe.Sizeof(element))
	p := unsafe.Pointer(unsafe.SliceData(dst))
	if uintptr(p)%uintptr(size) != 0 {
		return nil, fmt.Errorf("images: the destination is not aligned to %d bytes", size)
	}
	return unsafe.Slice((*T)(p), len(dst)/size), nil
}
