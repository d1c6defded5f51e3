//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// preferred is MPOL_PREFERRED: memory comes from the node while it has some.
const preferred = 1

// nodeMask has a bit for each node.
type nodeMask [maxNodes / 64]uint64

// preferNode makes the thread allocate memory on a node, until restore is called. The thread must
// be locked. It is a preference: without such a node, or if a container forbids it, nothing
// changes.
func preferNode(node int) (restore func()) {
	var before nodeMask
	var mode int32
	if node < 0 || memoryPolicy(unix.SYS_GET_MEMPOLICY, uintptr(unsafe.Pointer(&mode)), uintptr(unsafe.Pointer(&before)), maxNodes+1, 0, 0) != 0 {
		return func() {}
	}
	var mask nodeMask
	mask[node/64] = 1 << (node % 64)
	if memoryPolicy(unix.SYS_SET_MEMPOLICY, preferred, uintptr(unsafe.Pointer(&mask)), maxNodes+1, 0, 0) != 0 {
		return func() {}
	}
	return func() {
		memoryPolicy(unix.SYS_SET_MEMPOLICY, uintptr(mode), uintptr(unsafe.Pointer(&before)), maxNodes+1, 0, 0)
	}
}

//go:uintptrescapes
func memoryPolicy(trap, a, b, c, d, e uintptr) syscall.Errno {
	_, _, errno := unix.Syscall6(trap, a, b, c, d, e, 0)
	return errno
}
