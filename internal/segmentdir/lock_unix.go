//go:build unix

package segmentdir

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock locks a file for as long as it is open, or fails if another has it locked.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
