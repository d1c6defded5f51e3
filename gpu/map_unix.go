//go:build unix

package gpu

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapPages maps n zeroed bytes that begin at a page.
func mapPages(n int) (b []byte, unmap func() error, err error) {
	whole, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, os.NewSyscallError("mmap", err)
	}
	adviseHuge(whole)
	return whole[:n:n], func() error { return os.NewSyscallError("munmap", unix.Munmap(whole)) }, nil
}
