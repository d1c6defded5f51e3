package shardfeed

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shard"
)

// writeNumbers writes a file of rows from first on, at a fixed time. All such files have one size.
func writeNumbers(t *testing.T, path string, first int64) {
	t.Helper()
	type row struct {
		N int64 `parquet:"n,plain"`
	}
	rows := make([]row, 1000)
	for i := range rows {
		rows[i].N = first + int64(i)
	}
	if err := parquet.WriteFile(path, rows); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
}

// openSpec opens a spec until the test ends.
func openSpec(t *testing.T, s Spec) *Dataset {
	t.Helper()
	d, err := Open(t.Context(), s, Events{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return d
}

// TestReplacedFile: a local file that another of the same size and time replaced is read by its own
// footer: nothing that was kept of the old one is used.
func TestReplacedFile(t *testing.T) {
	replace := map[string]func(t *testing.T, path string, first int64){
		"in place": writeNumbers,
		"renamed": func(t *testing.T, path string, first int64) {
			other := filepath.Join(t.TempDir(), "other.parquet")
			writeNumbers(t, other, first)
			if err := os.Rename(other, path); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, replace := range replace {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv(dirVariable, filepath.Join(dir, "cache"))
			path := filepath.Join(dir, "one.parquet")
			writeNumbers(t, path, 0)
			s := Spec{Addresses: []string{path}, Choice: Choice{Filters: "n >= 5000"}, Caching: Caching{DecodedLimit: "64MiB"}}
			all := Spec{Addresses: []string{path}, BatchSize: 1000, Caching: Caching{DecodedLimit: "64MiB"}}
			planned := all
			planned.Plan = filepath.Join(dir, "all.plan")
			d := openSpec(t, all)
			keepAllDecoded(t, d)
			if err := d.SavePlan(planned.Plan, 1, iterable.StreamOptions{BatchSize: 1000}); err != nil {
				t.Fatal(err)
			}
			old := batchesOf(t, d, all.LoaderOptions())
			before, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			replace(t, path, 5000)
			if after, err := os.Stat(path); err != nil || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
				t.Fatalf("%v, %v", after, err)
			}
			if n := openSpec(t, s).NumSamples(); n != 1000 {
				t.Errorf("%d of 1000 rows pass the filter", n)
			}
			for _, s := range []Spec{all, planned} {
				if got := batchesOf(t, openSpec(t, s), s.LoaderOptions()); len(got) != 1 || got[0].hash == old[0].hash {
					t.Error("the old rows come")
				}
			}
		})
	}
}

// TestReplacedDuringRun: a file that another replaces while its data set is open is an error, and
// other uses of the file are not.
func TestReplacedDuringRun(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(dirVariable, filepath.Join(dir, "cache"))
	path, other := filepath.Join(dir, "one.parquet"), filepath.Join(dir, "other")
	writeNumbers(t, path, 0)
	s := Spec{Addresses: []string{path}, BatchSize: 1000}
	d := openSpec(t, s)
	if err := errors.Join(os.Chmod(path, 0o400), os.Link(path, path+".link")); err != nil {
		t.Fatal(err)
	}
	batchesOf(t, d, s.LoaderOptions())
	d = openSpec(t, s)
	writeNumbers(t, other, 5000)
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	l, err := loader.New(d.Dataset, s.LoaderOptions())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range l.Batches(t.Context()) {
		if !errors.Is(err, shard.ErrChanged) {
			t.Errorf("the first batch: %v", err)
		}
		break
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
