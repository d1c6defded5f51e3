package words

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// HugePages moves a table that is complete, and read at random places, to huge pages: the TLB does
// not have all small ones.
func HugePages[T any](table []T) {
	const size = 2 << 20
	if len(table) == 0 {
		return
	}
	first, n := unsafe.Pointer(unsafe.SliceData(table)), uintptr(len(table))*unsafe.Sizeof(table[0])
	skipped := -uintptr(first) & (size - 1)
	if n < skipped+size {
		return
	}
	pages := unsafe.Slice((*byte)(unsafe.Add(first, skipped)), (n-skipped)&^(size-1))
	_ = unix.Madvise(pages, unix.MADV_HUGEPAGE) // advice: nothing depends on it
	_ = unix.Madvise(pages, unix.MADV_COLLAPSE)
}
