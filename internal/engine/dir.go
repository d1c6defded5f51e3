package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/internal/regular"
)

// Dir returns the directory of the engines' sockets, and makes it: SHARDFEED_RUNTIME_DIR, else
// shardfeed in XDG_RUNTIME_DIR, else one of the user's own in the directory for temporary files. It
// refuses a directory of another user, or one that others may write to.
func Dir() (string, error) {
	dir, mkdir := givenDir(), os.MkdirAll
	if dir == "" {
		dir, mkdir = ownDir(), os.Mkdir // their parents are the system's to make
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return dir, makeDir(dir, mkdir)
}

// givenDir is SHARDFEED_RUNTIME_DIR, where ~ is the home directory.
func givenDir() string {
	return regular.Home(os.Getenv("SHARDFEED_RUNTIME_DIR"), os.Getenv("HOME"))
}

// ownDir passes over an XDG_RUNTIME_DIR of another user, as su and sudo -E leave it: what root made
// there would be in that user's way.
func ownDir() string {
	if run := os.Getenv("XDG_RUNTIME_DIR"); run != "" {
		if info, err := os.Stat(run); err != nil || isOwn(info) {
			return filepath.Join(run, "shardfeed")
		}
	}
	return filepath.Join(os.TempDir(), "shardfeed-"+strconv.Itoa(os.Geteuid()))
}

// elsewhere is the hint about a directory that cannot be used.
const elsewhere = "choose another directory by SHARDFEED_RUNTIME_DIR or serve --socket"

// makeDir makes a directory that is absent, by mkdir, and checks it. A directory that exists is
// never changed.
func makeDir(dir string, mkdir func(string, fs.FileMode) error) error {
	if _, err := os.Lstat(dir); err != nil {
		if err := mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%w; %s", err, elsewhere)
		}
	}
	return checkDir(dir)
}

// checkDir refuses a directory in which another user could put a socket. Below one that this user
// may write to, as in a volume of Kubernetes, an engine can make its own.
func checkDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: not a directory; %s", dir, elsewhere)
	}
	way := elsewhere
	if unix.Access(dir, unix.W_OK) == nil {
		way = "name a directory below it, such as " + filepath.Join(dir, "engine") + ", which serve makes with mode 0700"
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s: belongs to user %d, not to user %d; %s", dir, st.Uid, os.Geteuid(), way)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("%s: others may write to it (mode %#o); %s", dir, mode, way)
	}
	return nil
}
