package block

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// copySlack is how near the end of dst copyBlocks does not go.
const copySlack = 64

// copyAheadFrom is the length from which copyAhead may copy, and is faster than copy.
const copyAheadFrom = 2048

var canCopyBlocks = cpu.X86.HasAVX2

// copyBlocks is copyValues in blocks of 64 bytes, which needs no call for each value and no choice
// by its length. It returns how many values it copied. It stops before a long value, before one
// near the end of dst, and before one that ends less than a block before the end of a page.
//
//go:noescape
func copyBlocks(dst []byte, from []unsafe.Pointer, lens []uint32) (n, bytes int)

// copyAhead copies n bytes, at least copyAheadFrom. It asks the processor for what is 2 KiB ahead
// of them, in src and then in next: the processor's own prefetcher ends with each page.
//
//go:noescape
func copyAhead(dst, src unsafe.Pointer, n uintptr, next unsafe.Pointer)
