package feed

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

const (
	lifeSuffix  = ".engine" // of the file that an engine has locked for as long as it lives
	freshSuffix = ".new"    // of a socket before it has its name
	maxSocket   = 103       // bytes of a socket's path that every system takes
	lockWait    = 2 * time.Second
)

// A listener is an engine's socket. Closing it takes the name away first, so that nobody finds an engine that is about to end.
type listener struct {
	*net.UnixListener
	path string
	info fs.FileInfo
	life *os.File
}

// Listen makes an engine's socket at path. It returns ErrServing when another engine has it; what a dead one left is removed, here and
// beside.
func Listen(path string) (net.Listener, error) {
	if len(path)+len(freshSuffix) > maxSocket {
		return nil, fmt.Errorf("%s: longer than the %d bytes that a socket's path may have (SHARDFEED_RUNTIME_DIR names a shorter place)",
			path, maxSocket-len(freshSuffix))
	}
	if err := checkDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	life, err := lockLife(path)
	if err != nil {
		return nil, err
	}
	l, err := bind(path)
	if err != nil {
		return nil, errors.Join(err, os.Remove(life.Name()), life.Close())
	}
	l.life = life
	sweep(filepath.Dir(path), path)
	return l, nil
}

// bind listens under another name before the socket gets its own: whoever finds it can connect.
func bind(path string) (*listener, error) {
	fresh := path + freshSuffix
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: fresh, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	info, err := os.Lstat(fresh)
	if err == nil {
		err = os.Chmod(fresh, 0o600)
	}
	if err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(fresh), l.Close())
	}
	return &listener{UnixListener: l, path: path, info: info}, nil
}

// lockLife locks the file that says that the engine of path lives.
func lockLife(path string) (*os.File, error) {
	for end := time.Now().Add(lockWait); ; time.Sleep(10 * time.Millisecond) {
		f, err := tryLife(path + lifeSuffix)
		if f != nil || err != nil {
			return f, err
		}
		if answers(path) || time.Now().After(end) {
			return nil, fmt.Errorf("%s: %w", path, ErrServing)
		}
	}
}

// tryLife returns nil when somebody else has the lock: an engine that begins, lives or ends, or one that sweeps.
func tryLife(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, nil
		}
		return nil, fmt.Errorf("%s: lock: %w", name, err)
	}
	mine, err := f.Stat()
	if err == nil {
		if now, e := os.Lstat(name); e != nil || !os.SameFile(mine, now) {
			return nil, f.Close() // removed by the one who had it before
		}
		return f, nil
	}
	return nil, errors.Join(err, f.Close())
}

func lockFile(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != unix.EINTR {
			return err
		}
	}
}

func answers(path string) bool {
	c, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// sweep removes what dead engines left in the directory. It is a courtesy: what fails is left to the next one.
func sweep(dir, own string) {
	names, _ := filepath.Glob(filepath.Join(dir, "*"+lifeSuffix))
	for _, name := range names {
		path := strings.TrimSuffix(name, lifeSuffix)
		if path == own {
			continue
		}
		if f, err := tryLife(name); f != nil && err == nil {
			_ = os.Remove(path)
			_ = os.Remove(path + freshSuffix)
			_ = os.Remove(name)
			_ = f.Close()
		}
	}
}

// Close takes the name away, and then ends the socket. It can be called again.
func (l *listener) Close() error {
	if l.life == nil {
		return nil
	}
	var errs []error
	if now, err := os.Lstat(l.path); err == nil && os.SameFile(l.info, now) {
		errs = append(errs, os.Remove(l.path))
	}
	errs = append(errs, os.Remove(l.life.Name()), l.UnixListener.Close(), l.life.Close())
	l.life = nil
	return errors.Join(errs...)
}
