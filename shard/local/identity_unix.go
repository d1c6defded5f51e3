//go:build unix

package local

import (
	"fmt"
	"io/fs"
	"syscall"
)

// identity is a directory's device and inode.
func identity(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	}
	return ""
}

// instance is a file's inode and the time of its last change, which no program can set.
func instance(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d.%d", st.Ino, changeTime(st))
	}
	return ""
}
