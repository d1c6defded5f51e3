package local

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// readAhead is how much one piece of advice reads: the kernel cuts longer ones to a device's queue
// without saying so.
const readAhead = 512 << 10 // bytes

// populate brings the pages of a mapping in when they are not in memory already: a wait for the
// disk in a system call leaves the processor to other goroutines, in a page fault it does not.
// Pages in memory are left to fault, which maps many at once and is cheaper.
//
// Kernels before 5.14 only start the reads.
func populate(b []byte) error {
	if resident(b) {
		return nil
	}
	for rest := b; len(rest) > 0; rest = rest[min(len(rest), readAhead):] {
		_ = unix.Madvise(rest[:min(len(rest), readAhead)], unix.MADV_WILLNEED) // advice: nothing depends on it
	}
	for {
		switch err := unix.Madvise(b, unix.MADV_POPULATE_READ); err {
		case unix.EINTR:
		case unix.EFAULT, unix.EHWPOISON:
			return fmt.Errorf("reading the mapped file failed: %w", err)
		default:
			_ = unix.Madvise(b, unix.MADV_DONTNEED) // they are in memory now; the process's they become as they are touched
			return nil
		}
	}
}

// resident asks whether a few pages of a mapping are in memory; only speed hangs on it.
func resident(b []byte) bool {
	page := os.Getpagesize()
	last := (len(b) - 1) / page
	for _, i := range []int{0, last / 4, last / 2, last / 4 * 3, last} {
		var in byte
		_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&b[i*page])), 1, uintptr(unsafe.Pointer(&in)))
		if errno != 0 || in&1 == 0 {
			return false
		}
	}
	return true
}
