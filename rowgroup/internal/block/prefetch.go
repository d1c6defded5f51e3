//go:build amd64 || arm64

package block

import "unsafe"

// prefetch asks the processor to bring n bytes from p on near, into its second-level cache where it
// has the choice; it cannot fault. A plain Go load in its place costs more than it gains.
//
//go:noescape
func prefetch(p unsafe.Pointer, n uintptr)

// prefetchNear prefetches into the first-level cache what is read soon.
//
//go:noescape
func prefetchNear(p unsafe.Pointer, n uintptr)
