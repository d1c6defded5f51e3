//go:build unix

package rowgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestIndexTrust: an index that another user could have written is not used, and the footers are
// read from the shards.
func TestIndexTrust(t *testing.T) {
	store, shards := putFiles(t, manyFiles(t, 3))
	for _, test := range []struct {
		name  string
		spoil func(t *testing.T, dir string) error // a directory that holds a whole index
		says  string                               // "": nothing, and the index is used
		reads bool
	}{
		{name: "untouched", spoil: func(*testing.T, string) error { return nil }},
		{name: "read-only", spoil: func(_ *testing.T, dir string) error { return os.Chmod(dir, 0o555) }},
		{name: "read-only, and empty", spoil: func(t *testing.T, dir string) error {
			if os.Geteuid() == 0 {
				t.Skip("root writes to every directory")
			}
			return errors.Join(os.Remove(onlySegment(t, dir)), os.Chmod(dir, 0o555))
		}, says: "the directory is read-only", reads: true},
		{
			name: "writable by the group", spoil: func(_ *testing.T, dir string) error { return os.Chmod(dir, 0o770) },
			says: "run chmod -R go-w", reads: true,
		},
		{
			name: "writable by others", spoil: func(_ *testing.T, dir string) error { return os.Chmod(dir, 0o777) },
			says: "run chmod -R go-w", reads: true,
		},
		{name: "symbolic link", spoil: func(_ *testing.T, dir string) error {
			return errors.Join(os.Rename(dir, dir+".real"), os.Symlink(dir+".real", dir))
		}, says: "is a symbolic link", reads: true},
		{
			name: "another user's", spoil: func(t *testing.T, dir string) error { return giveAway(t, dir) },
			says: "belongs to user 12345", reads: true,
		},
		{name: "a segment that others can write", spoil: func(t *testing.T, dir string) error {
			return os.Chmod(onlySegment(t, dir), 0o666)
		}, reads: true},
		{
			name: "another user's segment", spoil: func(t *testing.T, dir string) error { return giveAway(t, onlySegment(t, dir)) },
			reads: true,
		},
		{name: "a segment that is a symbolic link", spoil: func(t *testing.T, dir string) error {
			name := onlySegment(t, dir)
			return errors.Join(os.Rename(name, dir+".elsewhere"), os.Symlink(dir+".elsewhere", name))
		}, reads: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var said []string
			o := Options{IndexDir: filepath.Join(t.TempDir(), "index")}
			want, _ := openRecorded(t, store, shards, o)
			t.Cleanup(func() { _ = os.Chmod(o.IndexDir, 0o700) }) // so that the files in it can be removed
			if err := test.spoil(t, o.IndexDir); err != nil {
				t.Fatal(err)
			}
			o.Events.IndexUnusable = func(dir string, err error) { said = append(said, fmt.Sprint(dir, ": ", err)) }
			got, reads := openRecorded(t, store, shards, o)
			sameManifest(t, got, want)
			if reads > 0 != test.reads {
				t.Errorf("%d reads", reads)
			}
			if all := strings.Join(said, "\n"); (all == "") != (test.says == "") || !strings.Contains(all, test.says) || len(said) > 1 {
				t.Errorf("said %q, want %q", said, test.says)
			}
		})
	}
}

// giveAway makes a file another user's, which only root can.
func giveAway(t *testing.T, path string) error {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	return os.Chown(path, 12345, 12345)
}

func onlySegment(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.sfi"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	return names[0]
}

// TestIndexPrivate: what the index makes is its user's alone.
func TestIndexPrivate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	store, shards := putFiles(t, manyFiles(t, 3))
	dir := filepath.Join(t.TempDir(), "made", "index")
	openRecorded(t, store, shards, Options{IndexDir: dir})
	for _, path := range []string{filepath.Dir(dir), dir, onlySegment(t, dir)} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}
