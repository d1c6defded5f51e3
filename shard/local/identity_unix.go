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
