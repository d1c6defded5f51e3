//go:build amd64 || arm64

package words

import "unsafe"

// prefetchEach brings the cache lines at base + offsets[:n] near.
//
//go:noescape
func prefetchEach(base unsafe.Pointer, offsets *uint32, n int)
