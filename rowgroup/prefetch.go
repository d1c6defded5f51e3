//go:build amd64 || arm64

package rowgroup

import "unsafe"

// prefetch asks the processor to bring n bytes from p on near; it cannot fault. A plain Go load in
// its place costs more than it gains.
//
//go:noescape
func prefetch(p unsafe.Pointer, n uintptr)
