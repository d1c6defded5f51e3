package shardfeed

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shard"
)

// A data file that a cleanup removed is named with a remedy, before a run and within it.
func TestRemovedDataFile(t *testing.T) {
	t.Setenv(dirVariable, t.TempDir())
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(trackedTable)); err != nil {
		t.Fatal(err)
	}
	s := rowIDSpec("10")
	s.Addresses = []string{"delta+" + dir}
	d := openSpec(t, s)
	file := d.Shards()[1].URI
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	check := func(when string, err error) {
		t.Helper()
		if !errors.Is(err, shard.ErrNotExist) {
			t.Errorf("%s: %v, want %v", when, err, shard.ErrNotExist)
			return
		}
		for _, want := range []string{filepath.Base(file), "(files of a table never change, so a cleanup (VACUUM, expire_snapshots) removed it"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v lacks %q", when, err, want)
			}
		}
	}
	o := s.LoaderOptions()
	o.WorldSize, o.Epochs = 1, 1
	l, err := loader.New(d.Dataset, o)
	if err != nil {
		t.Fatal(err)
	}
	for b, readErr := range l.Batches(t.Context()) {
		if err = readErr; err != nil {
			break
		}
		b.Release()
	}
	check("within a run", err)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	t.Setenv(dirVariable, t.TempDir()) // without its footer
	_, err = Open(t.Context(), s, Events{})
	check("before a run", err)
}
