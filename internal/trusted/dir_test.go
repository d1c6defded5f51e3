//go:build unix

package trusted

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestOpen: which directories are trusted.
func TestOpen(t *testing.T) {
	for _, test := range []struct {
		name string
		make func(t *testing.T, path string) error
		says string // "": trusted
	}{
		{"private", func(_ *testing.T, path string) error { return os.Mkdir(path, 0o700) }, ""},
		{"readable by all", func(_ *testing.T, path string) error { return os.Mkdir(path, 0o755) }, ""},
		{"writable by the group", func(_ *testing.T, path string) error { return os.Mkdir(path, 0o770) }, "run chmod -R go-w "},
		{"writable by others", func(_ *testing.T, path string) error { return os.Mkdir(path, 0o703) }, "run chmod -R go-w "},
		{"a link", func(t *testing.T, path string) error { return os.Symlink(t.TempDir(), path) }, "is a symbolic link"},
		{"another user's", func(t *testing.T, path string) error {
			if os.Geteuid() != 0 {
				t.Skip("only root gives files away")
			}
			return errors.Join(os.Mkdir(path, 0o700), os.Chown(path, 12345, 12345))
		}, "belongs to user 12345"},
	} {
		t.Run(test.name, func(t *testing.T) {
			defer syscall.Umask(syscall.Umask(0))
			path := filepath.Join(t.TempDir(), "dir")
			if err := test.make(t, path); err != nil {
				t.Fatal(err)
			}
			d, err := Open(path)
			if err == nil {
				defer d.Close()
			}
			if test.says == "" {
				if err != nil || d.Path() != path || d.ReadOnly() {
					t.Errorf("%+v, %v", d, err)
				}
				return
			}
			if !errors.Is(err, ErrUntrusted) || !strings.Contains(err.Error(), path+" ") || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestCreate: a missing directory is made for this user alone, whatever the umask; its parent is
// not.
func TestCreate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	path := filepath.Join(t.TempDir(), "dir")
	if _, err := Create(filepath.Join(path, "below")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("below a missing directory: %v", err)
	}
	for range 2 {
		d, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestNamesStayBelow: no name leads out of the directory, and only regular files are opened.
func TestNamesStayBelow(t *testing.T) {
	path, outside := filepath.Join(t.TempDir(), "dir"), t.TempDir()
	d, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	err = errors.Join(
		os.WriteFile(filepath.Join(outside, "file"), []byte("x"), 0o600),
		os.Symlink(filepath.Join(outside, "file"), filepath.Join(path, "link")),
		os.Symlink(outside, filepath.Join(path, "sub")),
		syscall.Mkfifo(filepath.Join(path, "fifo"), 0o600),
		os.Mkdir(filepath.Join(path, "directory"), 0o700),
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "sub/file", "../dir/fifo", "fifo", "directory", filepath.Join(outside, "file")} {
		t.Run(name, func(t *testing.T) {
			if f, err := d.OpenFile(name, os.O_RDONLY); err == nil {
				f.Close()
				t.Error("it was opened")
			}
		})
	}
	if f, err := d.OpenDir("sub"); err == nil {
		f.Close()
		t.Error("a directory outside was opened")
	}
}
