//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks an open file for as long as it is open. It fails when another process has it
// locked.
func lockFile(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
