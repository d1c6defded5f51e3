package rowgroup

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// copySlack is how near the end of dst copyBlocks does not go.
const copySlack = 64

var canCopyBlocks = cpu.X86.HasAVX2

// copyBlocks is copyValues in blocks of 64 bytes, which needs no call for each value and no choice
// by its length. It returns how many values it copied. It stops before a long value, before one
// near the end of dst, and before one that ends less than a block before the end of a page.
//
//go:noescape
func copyBlocks(dst []byte, from []unsafe.Pointer, lens []uint32) (n, bytes int)
