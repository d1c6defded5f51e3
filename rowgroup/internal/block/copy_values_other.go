//go:build !amd64

package block

import "unsafe"

const (
	copySlack     = 0
	copyAheadFrom = 0
	canCopyBlocks = false
)

func copyBlocks([]byte, []unsafe.Pointer, []uint32) (n, bytes int) { return 0, 0 }

func copyAhead(_, _ unsafe.Pointer, _ uintptr, _ unsafe.Pointer) {}
