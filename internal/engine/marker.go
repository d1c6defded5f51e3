package engine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	markerSuffix = ".shardfeed-engine" // reserved: the marker of NAME is NAME.shardfeed-engine
	markerLine   = "shardfeed engine of "
)

// A marker is the file beside a socket that an engine holds locked while it lives. It is written
// before the socket exists and removed after it, so a dead socket without a marker is not an
// engine's.
type marker struct {
	*os.File
	left bool // an engine that died left it
}

// errNotMarker refuses a file under a marker's name that no engine has written.
var errNotMarker = errors.New("it is not an engine's marker")

// makeMarker locks the marker of a socket, and creates it if missing. It returns nil if another
// process holds the lock, or has just removed the file.
func makeMarker(socket string) (*marker, error) {
	m, err := lockMarker(socket)
	if !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	m, err = lockOwn(socket+markerSuffix, os.O_CREATE|os.O_EXCL)
	if errors.Is(err, fs.ErrExist) {
		return nil, nil
	}
	if m == nil || err != nil {
		return nil, err
	}
	_, _ = m.WriteString(markerOf(socket)) // a full disk leaves it empty, which is ours too under the reserved name
	return m, nil
}

func lockMarker(socket string) (*marker, error) {
	m, err := lockOwn(socket+markerSuffix, 0)
	if m == nil || err != nil {
		return nil, err
	}
	m.left = true
	line := markerOf(socket)
	have, err := io.ReadAll(io.LimitReader(m, int64(len(line))+1))
	if err == nil && len(have) > 0 && string(have) != line {
		err = refused(m.Name(), errNotMarker)
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

func markerOf(socket string) string { return markerLine + filepath.Base(socket) + "\n" }

// lockOwn opens and locks a regular file of this user. It returns nil when the lock is taken or the
// file was just removed.
func lockOwn(name string, flags int) (*marker, error) {
	f, err := os.OpenFile(name, os.O_RDWR|flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.ENXIO) {
		return nil, refused(name, errNotMarker)
	}
	if err != nil {
		return nil, err
	}
	mine, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if !mine.Mode().IsRegular() || !isOwn(mine) {
		return nil, errors.Join(refused(name, errNotMarker), f.Close())
	}
	if err := lockFile(f); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, nil
		}
		return nil, fmt.Errorf("%s: lock: %w", name, err)
	}
	if now, err := os.Lstat(name); err != nil || !os.SameFile(mine, now) {
		return nil, f.Close() // its last holder removed it
	}
	return &marker{File: f}, nil
}

// remove removes the marker and unlocks it. A nil marker is nothing to remove.
func (m *marker) remove() error {
	if m == nil {
		return nil
	}
	return errors.Join(os.Remove(m.Name()), m.Close())
}

func isOwn(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

func lockFile(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != unix.EINTR {
			return err
		}
	}
}

// refused reports that a file in the way is not the engine's to remove.
func refused(name string, why error) error {
	return fmt.Errorf("%s exists and is left as it is: %w; choose another path for the socket", name, why)
}
