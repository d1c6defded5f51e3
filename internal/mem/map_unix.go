//go:build unix

package mem

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapHuge maps n bytes of zeroed memory that begin at a huge page's edge. whole is what unmap takes.
func mapHuge(n int) (whole, b []byte) {
	whole, err := unix.Mmap(-1, 0, n+hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		panic("mem: out of address space: " + err.Error())
	}
	skip := int(-uintptr(unsafe.Pointer(&whole[0])) & (hugePage - 1))
	b = whole[skip : skip+n : skip+n]
	adviseHuge(b)
	return whole, b
}

func unmap(whole []byte) {
	if err := unix.Munmap(whole); err != nil {
		panic("mem: unmap: " + err.Error())
	}
}
