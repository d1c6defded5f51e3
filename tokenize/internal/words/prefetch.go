//go:build amd64 || arm64

package words

import "unsafe"

// prefetchEach brings the cache lines at base + offsets[:n] near.
//
//go:noescape
func prefetchEach(base unsafe.Pointer, offsets *uint32, n int)

// loadEach does the same for a table of many pages. It loads from each line, since processors may drop
// a prefetch whose page has no entry in the TLB.
//
//go:noescape
func loadEach(base unsafe.Pointer, offsets *uint32, n int)
