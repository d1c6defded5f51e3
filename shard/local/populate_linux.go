package local

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// populate brings all pages in at once, which costs a tenth of faulting them one by one and gives an error where a touch would fault.
// Kernels before 5.14 cannot; there they are read ahead and then fault.
func populate(b []byte) error {
	_ = unix.Madvise(b, unix.MADV_WILLNEED) // starts reading; populating then waits for the reads
	for {
		switch err := unix.Madvise(b, unix.MADV_POPULATE_READ); err {
		case unix.EINTR:
		case unix.EFAULT, unix.EHWPOISON:
			return fmt.Errorf("the disk does not give its bytes: %w", err)
		default:
			return nil
		}
	}
}
