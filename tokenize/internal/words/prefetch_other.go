//go:build !amd64 && !arm64

package words

import "unsafe"

func prefetchEach(unsafe.Pointer, *uint32, int) {}

func loadEach(unsafe.Pointer, *uint32, int) {}
