//go:build unix

package krb

import (
	"io/fs"
	"syscall"
)

// inode is the number by which a file system knows a file: another one when the file was replaced.
func inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino)
	}
	return 0
}
