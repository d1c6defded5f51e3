package rowgroup

import "unsafe"

// Words of eight bytes: 1 in each, and the high bit of each.
const (
	low1     = 0x0101010101010101
	highBits = 0x8080808080808080
)

// The memory of a block is bytes from an arena; these see it as words. Every target is
// little-endian, see internal/mem.

func asU16(b []byte) []uint16 { return asWords[uint16](b) }
func asU32(b []byte) []uint32 { return asWords[uint32](b) }
func asU64(b []byte) []uint64 { return asWords[uint64](b) }

// asWords sees whole words of b; a rest is left out. It makes no pointer to a word that b does not
// hold.
func asWords[T any](b []byte) []T {
	n := uintptr(len(b)) / unsafe.Sizeof(*new(T))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

func asBytes[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), uintptr(len(s))*unsafe.Sizeof(*new(T)))
}

// sized returns a slice of n elements of any content, s itself when it has the room.
func sized[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	return make([]T, n, n+n/4)
}
