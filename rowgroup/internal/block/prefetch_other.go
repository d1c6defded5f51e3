//go:build !(amd64 || arm64)

package block

import "unsafe"

func prefetch(unsafe.Pointer, uintptr) {}

func prefetchNear(unsafe.Pointer, uintptr) {}
