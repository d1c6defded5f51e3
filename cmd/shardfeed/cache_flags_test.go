package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/cache"
)

// A cache that others could have written is shown as one that cannot be used.
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
	t.Run("as it is shown", func(t *testing.T) {
		f := &flags{}
		f.CacheDir = root
		if got := f.cacheStatus(); !strings.HasPrefix(got.State, "cannot be used: ") || !strings.Contains(got.State, want) {
			t.Errorf("%+v", got)
		}
	})
}
