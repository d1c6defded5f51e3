package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/shardfeed/shardfeed/cache"
)

// The flag wins over the environment; the index and the lists lie beside the cache.
func TestCacheDirectory(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{dirVariable, "SLURM_TMPDIR", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	cases := []struct{ set, flag, want string }{
		{"HOME", "", filepath.Join(home, ".cache", "shardfeed")},
		{"XDG_CACHE_HOME", "", "/x/shardfeed"},
		{"SLURM_TMPDIR", "", "/x/shardfeed"},
		{dirVariable, "", "/x"},
		{dirVariable, "/flag", "/flag"},
	}
	for _, c := range cases {
		if c.set != "HOME" {
			t.Setenv(c.set, "/x")
		}
		f := cacheFlags{cacheDir: c.flag}
		if got := f.root(); got != c.want {
			t.Errorf("%s: the cache is in %s, want %s", c.set, got, c.want)
		}
		if got := f.indexDir(); got != filepath.Join(c.want, "index") {
			t.Errorf("%s: the index is in %s", c.set, got)
		}
		if got := f.manifestDir(); got != filepath.Join(c.want, "manifests") {
			t.Errorf("%s: lists are in %s", c.set, got)
		}
	}
}

func TestCacheLimit(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(limitVariable, "")
	f := cacheFlags{}
	usual, err := f.limitIn(filepath.Join(dir, "not", "there"))
	if err != nil || usual < 1<<20 || usual > 100<<30 {
		t.Errorf("by default %d, %v", usual, err)
	}
	t.Setenv(limitVariable, "3MiB")
	if got, err := f.limitIn(dir); err != nil || got != 3<<20 {
		t.Errorf("by the environment %d, %v", got, err)
	}
	f.cacheLimit = "5MiB"
	if got, err := f.limitIn(dir); err != nil || got != 5<<20 {
		t.Errorf("by the flag %d, %v", got, err)
	}
	f.cacheLimit = "10%"
	if got, err := f.limitIn(dir); err != nil || got < 5<<20 {
		t.Errorf("as a part %d, %v", got, err)
	}
}

func TestCachePolicy(t *testing.T) {
	for text, want := range map[string]cache.Policy{"": cache.Keep, "keep": cache.Keep, "lru": cache.LRU} {
		if got := (&cacheFlags{cachePolicy: text}).policy(); got != want {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// What waits for the disk is a part of the stream's memory, within bounds.
func TestPending(t *testing.T) {
	for memory, want := range map[int64]int64{
		1 << 20: 256 << 10, 64 << 20: 8 << 20, 256 << 20: 16 << 20, 512 << 20: 32 << 20, 64 << 30: 64 << 20,
	} {
		if got := (&flags{memory: byteSize(memory)}).part(pendingPart, leastPending, mostPending); got != want {
			t.Errorf("%d of %d bytes may wait, want %d", got, memory, want)
		}
	}
}

// What to do is said once, and fits what is wrong.
func TestElsewhere(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("cache /c: %w: /c is on NFS; give a directory on a local disk", cache.ErrUnfit), "a local disk"},
		{fmt.Errorf("cache /c: %w", cache.ErrNoRoom), "(make room there, or name a directory on another disk with --cache-dir)"},
		{fmt.Errorf("cache /c: %w", syscall.EROFS), "(name another directory with --cache-dir)"},
	} {
		if err := elsewhere(c.err); !errors.Is(err, c.err) || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%v", err)
		}
	}
}

// A cache that others could have written is passed by with one line; one that a flag names is an error.
func TestCacheNotTrusted(t *testing.T) {
	root := t.TempDir()
	if cache.Fit(root) != nil {
		t.Skip("the directory for temporary files cannot hold a cache")
	}
	if err := os.MkdirAll(filepath.Join(root, "v1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(root, "v1"), 0o777); err != nil {
		t.Fatal(err)
	}
	const want = "v1 can be written by its group or by others; run chmod -R go-w "
	t.Run("by the environment", func(t *testing.T) {
		t.Setenv(dirVariable, root)
		a := &app{}
		c, err := a.openCache(&flags{}, root)
		if c != nil || err != nil || len(a.notes) != 1 || !strings.Contains(a.notes[0], want) {
			t.Errorf("%v, %v, said %q", c, err, a.notes)
		}
	})
	t.Run("by the flag", func(t *testing.T) {
		a, f := &app{}, &flags{}
		f.cacheDir = root
		c, err := a.openCache(f, root)
		if c != nil || err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "(name another directory with --cache-dir)") {
			t.Errorf("%v, %v", c, err)
		}
	})
	t.Run("as it is shown", func(t *testing.T) {
		f := &flags{}
		f.cacheDir = root
		if got := f.cacheStatus(); !strings.HasPrefix(got.State, "cannot be used: ") || !strings.Contains(got.State, want) {
			t.Errorf("%+v", got)
		}
	})
}
