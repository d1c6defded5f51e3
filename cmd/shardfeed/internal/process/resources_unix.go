package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// CPUTime is the processor time that the process has used.
func CPUTime() (user, system time.Duration) {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
}

// LimitOf returns the process's limit of a resource; -1 is unlimited, 0 unknown.
func LimitOf(resource int) int64 {
	var l unix.Rlimit
	switch err := unix.Getrlimit(resource, &l); {
	case err != nil:
		return 0
	case l.Cur > 1<<62:
		return -1
	}
	return int64(l.Cur)
}

// FreeBytes is the free space for this user in the file system of a directory; 0 if unknown.
func FreeBytes(dir string) int64 {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0
	}
	return int64(s.Bavail) * int64(s.Bsize)
}

// Writable reports whether this user may create files in a directory.
func Writable(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }
