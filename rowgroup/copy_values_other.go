//go:build !amd64

package rowgroup

import "unsafe"

const (
	copySlack     = 0
	canCopyBlocks = false
)

func copyBlocks([]byte, []unsafe.Pointer, []uint32) (n, bytes int) { return 0, 0 }
