//go:build linux || darwin

package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the processor time that the process has used.
func cpuTime() (user, system time.Duration) {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
}

// lockLimit is how much memory the process may lock (pin), in bytes; -1 when there is no limit.
func lockLimit() (bytes int64, err error) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &l); err != nil {
		return 0, err
	}
	if l.Cur > 1<<62 {
		return -1, nil
	}
	return int64(l.Cur), nil
}

// fileLimit is how many files the process may have open.
func fileLimit() (int64, error) {
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l)
	return int64(min(l.Cur, 1<<62)), err
}

// freeBytes is the free space for this user in the file system of a directory; 0 if unknown.
func freeBytes(dir string) int64 {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0
	}
	return int64(s.Bavail) * int64(s.Bsize)
}

func writable(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }
