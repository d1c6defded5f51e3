package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrServing is a socket at which another engine listens.
var ErrServing = errors.New("another engine serves there")

// The files at a socket's path that an engine must not remove.
var (
	errNotSocket = errors.New("it is not a socket")
	errListens   = errors.New("another program listens there")
	errForeign   = errors.New("it is a socket that no engine left")
)

const (
	maxSocket = 103 // bytes of a socket's path that every system takes
	lockWait  = 2 * time.Second
)

// A listener is an engine's socket. Closing it removes the socket's name first, so that no trainer
// finds an engine that is about to end.
type listener struct {
	*net.UnixListener
	path   string
	info   fs.FileInfo
	marker *marker
}

// Listen creates an engine's socket at path, and its directory if missing. It returns ErrServing if
// another engine has it. It removes only leftovers of dead engines, at path and beside it, and
// refuses a path with any other file.
func Listen(path string) (net.Listener, error) {
	if len(path) > maxSocket {
		return nil, fmt.Errorf("%s: longer than the %d bytes that a socket's path may have (SHARDFEED_RUNTIME_DIR names a shorter place)",
			path, maxSocket)
	}
	if err := makeDir(filepath.Dir(path), os.MkdirAll); err != nil {
		return nil, err
	}
	if _, err := lookAt(path); err != nil && !errors.Is(err, errListens) { // before a marker is written beside another's file
		return nil, err
	}
	m, err := claim(path)
	if err != nil {
		return nil, err
	}
	l, err := bind(path, m.left)
	if err != nil {
		return nil, errors.Join(err, m.remove())
	}
	l.marker = m
	sweep(filepath.Dir(path), path)
	return l, nil
}

// claim locks the marker of path. It waits a moment for an engine that starts or stops there.
func claim(path string) (*marker, error) {
	for end := time.Now().Add(lockWait); ; time.Sleep(10 * time.Millisecond) {
		m, err := makeMarker(path)
		if err != nil {
			return nil, err
		}
		if m != nil {
			return m, nil
		}
		if found, _ := lookAt(path); found == living || time.Now().After(end) {
			return nil, fmt.Errorf("%s: %w", path, ErrServing)
		}
	}
}

// bind listens at path. It removes a dead socket that an engine left there, and never another file:
// bind(2) fails on one.
func bind(path string, left bool) (*listener, error) {
	found, err := lookAt(path)
	if err == nil && found == dead {
		if left {
			err = os.Remove(path)
		} else {
			err = refused(path, errForeign)
		}
	}
	if err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	info, err := os.Lstat(path)
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(path), l.Close())
	}
	return &listener{UnixListener: l, path: path, info: info}, nil
}

// An occupant is the kind of file at a socket's path.
type occupant int

const (
	absent occupant = iota
	dead            // a socket of this user that refuses connections
	living          // a socket at which a program listens
)

// lookAt returns the kind of file at a socket's path, or an error for a file that no engine can
// have left.
func lookAt(path string) (occupant, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return absent, nil
	}
	if err != nil {
		return absent, err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return absent, refused(path, fmt.Errorf("%w but %s", errNotSocket, kindOfFile(info.Mode())))
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	switch {
	case err == nil:
		_ = c.Close()
		return living, refused(path, errListens)
	case errors.Is(err, unix.ENOENT):
		return absent, nil
	case errors.Is(err, unix.ECONNREFUSED) && isOwn(info):
		return dead, nil
	}
	return living, refused(path, fmt.Errorf("%w: %w", errListens, err)) // a datagram socket, a full queue, another user's
}

func kindOfFile(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode.IsRegular():
		return "a file"
	}
	return "a device or pipe"
}

// sweep removes what dead engines left in the directory. What fails is left to the next engine.
func sweep(dir, own string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if socket, is := strings.CutSuffix(filepath.Join(dir, e.Name()), markerSuffix); is && socket != own {
			sweepOne(socket)
		}
	}
}

func sweepOne(socket string) {
	m, err := lockMarker(socket)
	if m == nil || err != nil {
		return
	}
	if found, err := lookAt(socket); err == nil && found == dead {
		_ = os.Remove(socket)
	}
	_ = m.remove()
}

// Close removes the name, and then ends the socket. It can be called again.
func (l *listener) Close() error {
	if l.marker == nil {
		return nil
	}
	var errs []error
	if now, err := os.Lstat(l.path); err == nil && os.SameFile(l.info, now) {
		errs = append(errs, os.Remove(l.path))
	}
	errs = append(errs, l.UnixListener.Close(), l.marker.remove())
	l.marker = nil
	return errors.Join(errs...)
}
