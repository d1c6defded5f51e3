package char

import (
	"math/bits"
	"unsafe"
)

var bigEndian = func() bool {
	x := uint16(1)
	return *(*byte)(unsafe.Pointer(&x)) == 0
}()

// littleEndian returns a loaded word as a little-endian machine loads it.
func littleEndian(x uint64) uint64 {
	if bigEndian {
		return bits.ReverseBytes64(x)
	}
	return x
}
