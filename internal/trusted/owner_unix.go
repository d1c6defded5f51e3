//go:build unix

package trusted

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// noWait opens a FIFO at once, so that one in the place of a file cannot block; regular files
// ignore it.
const noWait = syscall.O_NONBLOCK

func checkInfo(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return untrusted(path, "has no owner")
	}
	if self := os.Geteuid(); stat.Uid != 0 && int(stat.Uid) != self {
		return untrusted(path, fmt.Sprintf("belongs to user %d and must belong to this user, %d, or to root", stat.Uid, self))
	}
	if info.Mode().Perm()&0o022 != 0 {
		return untrusted(path, fmt.Sprintf("can be written by its group or by others; run chmod -R go-w %s", path))
	}
	return nil
}

// writable asks whether this process may make files in an open directory.
func writable(dir *os.File) bool {
	return unix.Faccessat(int(dir.Fd()), ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS) == nil
}
