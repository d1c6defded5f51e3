//go:build !amd64

package block

import "unsafe"

var canTranspose = false

func transposeRecords(*uint64, int, int, *[4]unsafe.Pointer) {}

func packHalves([]uint32, unsafe.Pointer) {}

func packBits([]byte, *uint64, int) {}
