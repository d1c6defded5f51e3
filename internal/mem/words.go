package mem

import "unsafe"

// Pages and arenas are bytes; these see them as words. Every target is little-endian (endian.go).

// AsU16 sees whole numbers of b; a rest is left out.
func AsU16(b []byte) []uint16 { return AsWords[uint16](b) }

// AsU32 is AsU16 of 32 bits.
func AsU32(b []byte) []uint32 { return AsWords[uint32](b) }

// AsU64 is AsU16 of 64 bits.
func AsU64(b []byte) []uint64 { return AsWords[uint64](b) }

// AsWords sees whole words of b; a rest is left out. It makes no pointer to a word that b does not
// hold.
func AsWords[T any](b []byte) []T {
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
