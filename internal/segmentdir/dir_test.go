package segmentdir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func open(t *testing.T) *Dir {
	t.Helper()
	d, err := Open(filepath.Join(t.TempDir(), "made", "here"), ".seg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestNewest(t *testing.T) {
	d := open(t)
	var want []string
	for n, text := range []string{"a", "bb", "ccc"} {
		name, err := d.Write([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(int64(1000+n), 0)
		if err := os.Chtimes(filepath.Join(d.Path(), name), at, at); err != nil {
			t.Fatal(err)
		}
		want = append([]string{name}, want...)
	}
	if err := os.WriteFile(filepath.Join(d.Path(), "foreign"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := d.Newest()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for n, f := range files {
		got = append(got, f.Name())
		if f.Size() != int64(3-n) {
			t.Errorf("%s has %d bytes", f.Name(), f.Size())
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%v, not %v", got, want)
	}
}

// TestTempsOfTheKilled: an unfinished segment whose writer has ended goes with the next look at the
// directory, and one that is being written stays.
func TestTempsOfTheKilled(t *testing.T) {
	d := open(t)
	dead, mine := filepath.Join(d.Path(), tempPrefix+"dead"), filepath.Join(d.Path(), tempPrefix+"mine")
	for _, path := range []string{dead, mine} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Now(), time.Now().Add(-2*newAge)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(mine)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := lock(f); err != nil {
		t.Skip(err)
	}
	other, err := Open(d.Path(), ".s")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := os.Stat(dead); err == nil {
		t.Error("the file of the dead stays")
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error("the file of the living is gone")
	}
}

func TestWriteRemovesOldTemps(t *testing.T) {
	d := open(t)
	for name, age := range map[string]time.Duration{"tmp-old": 2 * tempAge, "tmp-new": 0, "other": 2 * tempAge} {
		path := filepath.Join(d.Path(), name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Now(), time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Write(nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"tmp-old": false, "tmp-new": true, "other": true} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(d.Path(), name)); (err == nil) != want {
				t.Errorf("%v", err)
			}
		})
	}
}

// A write that fails leaves nothing.
func TestWriteLeavesNothing(t *testing.T) {
	d := open(t)
	d.suffix = "/nowhere" // the rename fails
	if _, err := d.Write([]byte("x")); err == nil {
		t.Fatal("it was written")
	}
	if entries, err := d.ReadDir("."); err != nil || len(entries) > 0 {
		t.Errorf("%d files are left (%v)", len(entries), err)
	}
}
