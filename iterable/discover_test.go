package iterable

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
)

// A folder with a README is read without it, and a folder with a file that is not parquet suggests
// the pattern that reads the others.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../testdata/shop")); err != nil {
		t.Fatal(err)
	}
	add := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("this is text and nothing else"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	add("README.md")
	var said []string
	o := Options{Events: Events{Noted: func(text string) { said = append(said, text) }}}
	stores := shard.Stores{"": local.Store{}}
	d, err := Open(t.Context(), stores, []string{dir}, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil || len(said) != 1 || !strings.Contains(said[0], "1 file is left out of "+dir) {
		t.Errorf("%q, %v", said, err)
	}
	o.Strict = true
	if _, err := Open(t.Context(), stores, []string{dir}, o); err == nil || !strings.Contains(err.Error(), "beside parquet files it holds README.md") {
		t.Errorf("strict: %v", err)
	}
	add("LICENSE")
	_, err = Open(t.Context(), stores, []string{dir}, Options{})
	if !errors.Is(err, rowgroup.ErrNotParquet) || !strings.Contains(err.Error(), "give "+dir+"/**/*.parquet") {
		t.Errorf("error %v", err)
	}
}
