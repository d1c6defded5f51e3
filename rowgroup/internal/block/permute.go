package block

import (
	"unsafe"
)

// PermuteValues copies values skip+order[0], skip+order[1], .. of w bytes to dst.
func PermuteValues(dst, from []byte, w, skip int, order []uint32) {
	src := unsafe.Add(unsafe.Pointer(unsafe.SliceData(from)), skip*w)
	switch w {
	case 1:
		permute[uint8](dst, src, order)
	case 2:
		permute[uint16](dst, src, order)
	case 4:
		permute[uint32](dst, src, order)
	case 8:
		permute[uint64](dst, src, order)
	default:
		for i, r := range order {
			copy(dst[i*w:i*w+w], unsafe.Slice((*byte)(unsafe.Add(src, int(r)*w)), w))
		}
	}
}

func permute[T uint8 | uint16 | uint32 | uint64](dst []byte, src unsafe.Pointer, order []uint32) {
	if len(order) == 0 {
		return
	}
	out := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(dst))), len(order))
	for i, r := range order {
		out[i] = *(*T)(unsafe.Add(src, uintptr(r)*unsafe.Sizeof(*new(T))))
	}
}
