package rowgroup

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

// copyAhead copies n bytes, at least copyAheadFrom, and asks the processor for what is 2 KiB ahead of
// them: of src, then of next, which it may name in vain. The processor's own prefetcher ends with
// each page, and long values that lie apart fill caches only as fast as it begins anew.
//
//go:noescape
func copyAhead(dst, src unsafe.Pointer, n uintptr, next unsafe.Pointer)
