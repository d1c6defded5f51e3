package mem

import "unsafe"

// Pages and arenas are bytes; these see them as words. Every target is little-endian (endian.go).

// As sees whole words of b; a rest is left out. It makes no pointer to a word that b does not hold.
func As[T any](b []byte) []T {
	n := uintptr(len(b)) / unsafe.Sizeof(*new(T))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// AsBytes sees the memory of s.
func AsBytes[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), uintptr(len(s))*unsafe.Sizeof(*new(T)))
}
