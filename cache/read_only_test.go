//go:build linux

package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

// makeReadOnly takes the right to write to a directory away for the rest of the test: root goes on
// as another user.
func makeReadOnly(t *testing.T, dir string) {
	t.Helper()
	dirs, files := fs.FileMode(0o555), fs.FileMode(0o444)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, dirs)
		}
		return os.Chmod(path, files)
	})
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		t.Cleanup(func() {
			_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error { return os.Chmod(path, 0o700) })
		})
		return
	}
	for up := filepath.Dir(dir); up != "/" && up != os.TempDir(); up = filepath.Dir(up) {
		chmod(t, 0o755, up)
	}
	if err := syscall.Setresuid(-1, stranger, -1); err != nil { // of all threads
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setresuid(-1, 0, -1); err != nil {
			panic(err)
		}
	})
}

// TestReadOnly: a directory that was filled before and cannot be written is read, and nothing is
// written to it.
func TestReadOnly(t *testing.T) {
	content, other := random(1, 300_000), random(2, 100_000)
	dir, store, s, path := filledDir(t, content)
	k, _ := keyOf(store, s)
	rot(t, path, fileLayoutOf(k).data)
	filler := openTest(t, Options{Dir: dir, DecodedLimit: 1 << 20})
	keepDecoded(t, openDecoded(t, filler, s, 3*blockSize), s, 0, 2*blockSize)
	closeTest(t, filler)
	makeReadOnly(t, dir)
	before := treeOf(t, dir)
	var said []string
	c := openTest(t, Options{Dir: dir, DecodedLimit: 1 << 20, Events: Events{
		ReadOnly: func(err error) { said = append(said, err.Error()) },
		Trouble:  func(err error) { t.Error("trouble:", err) },
	}})
	if len(said) != 1 || !strings.HasSuffix(said[0], "the directory is read-only: what it holds is read, and nothing is added") {
		t.Errorf("said %q", said)
	}
	fetched := store.ReadBytes()
	o := openShard(t, c, store, s)
	expect(t, o, content, 2*blockSize, 1000)
	expectLease(t, o, content, 2*blockSize, 1000)
	if got := store.ReadBytes() - fetched; got != 0 {
		t.Errorf("%d bytes were fetched that are held", got)
	}
	expect(t, o, content, 0, len(content)) // the damaged block comes from the source
	if got := store.ReadBytes() - fetched; got == 0 || c.Stats().Bad != 1 {
		t.Errorf("%d bytes were fetched, %+v", got, c.Stats())
	}
	missing, s2 := one(t, other)
	expect(t, openShard(t, c, missing, s2), other, 0, len(other))
	if _, err := c.Fill(t.Context(), missing, s2, []shard.Span{{N: s2.Size}}, nil); !errors.Is(err, errReadOnly) {
		t.Errorf("Fill: %v", err)
	}
	d := openDecoded(t, c, s, 3*blockSize)
	expectDecoded(t, d, s, 0, 2*blockSize)
	if err := d.Keep(t.Context(), 2*blockSize, make([]byte, 10)); !errors.Is(err, errReadOnly) || d.MayKeep(10) {
		t.Errorf("Keep: %v", err)
	}
	if space, err := Usage(dir); err != nil || !space.ReadOnly || space.Shards != 1 {
		t.Errorf("%+v, %v", space, err)
	}
	if _, err := Clear(t.Context(), dir); !errors.Is(err, errReadOnly) {
		t.Errorf("Clear: %v", err)
	}
	if limit, err := DefaultLimit(dir); err != nil || limit < minLimit {
		t.Errorf("limit %d, %v", limit, err)
	}
	if after := treeOf(t, dir); after != before {
		t.Errorf("the directory changed from\n%s\nto\n%s", before, after)
	}
}

// treeOf lists what lies below a directory, with sizes and times.
func treeOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		fmt.Fprintln(&b, path, info.Size(), info.Mode(), info.ModTime().UnixNano())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
