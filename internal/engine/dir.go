package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Dir returns the directory of the engines' sockets, and makes it: SHARDFEED_RUNTIME_DIR, else
// shardfeed in XDG_RUNTIME_DIR, else one of the user's own in the directory for temporary files. It
// refuses a directory of another user, or one that others may write to.
func Dir() (string, error) {
	dir := os.Getenv("SHARDFEED_RUNTIME_DIR")
	if run := os.Getenv("XDG_RUNTIME_DIR"); dir == "" && run != "" {
		dir = filepath.Join(run, "shardfeed")
	}
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "shardfeed-"+strconv.Itoa(os.Geteuid()))
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%w (SHARDFEED_RUNTIME_DIR names another place)", err)
	}
	return dir, checkDir(dir)
}

// checkDir refuses a directory in which another user could put a socket.
func checkDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%s: %s (SHARDFEED_RUNTIME_DIR names another place)", dir, fmt.Sprintf(format, args...))
	}
	if !info.IsDir() {
		return refuse("not a directory")
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return refuse("belongs to user %d, not to user %d", st.Uid, os.Geteuid())
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return refuse("others may write to it (mode %#o); chmod 700 it", mode)
	}
	return nil
}
