//go:build unix

package mem

import "golang.org/x/sys/unix"

// mapAligned maps n bytes of zeroed memory that start at a multiple of align, a power of two. Pass
// whole to unmap.
func mapAligned(n, align int) (whole, b []byte, err error) {
	whole, err = unix.Mmap(-1, 0, n+align, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	skip := int(-address(whole) & uintptr(align-1))
	b = whole[skip : skip+n : skip+n]
	return whole, b, nil
}

func unmap(whole []byte) {
	if err := unix.Munmap(whole); err != nil {
		panic("mem: unmap: " + err.Error())
	}
}
