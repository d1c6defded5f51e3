//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxNodes is the most NUMA nodes that a kernel is built for.
const maxNodes = 1024

// preferred is MPOL_PREFERRED: memory comes from the node while it has some.
const preferred = 1

// nodeMask has a bit for each node.
type nodeMask [maxNodes / 64]uint64

// busNode is the NUMA node of a PCI device; -1 where the kernel does not know it, as on machines
// that have one.
func busNode(sysfs, bus string) int {
	text, err := os.ReadFile(filepath.Join(sysfs, "bus/pci/devices", bus, "numa_node"))
	if err != nil {
		return -1
	}
	node, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || node < 0 || node >= maxNodes {
		return -1
	}
	return node
}

// preferNode lets the memory that the thread asks for come from a node, until restore is called.
// The thread must be locked. It is a wish: where there is no such node, or a container forbids it,
// nothing changes.
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
