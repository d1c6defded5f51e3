package shardfeed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/shuffle"
)

// growing is a copy of deltaTable whose commits appear up to a version.
func growing(t *testing.T) (dir string, grow func(version int)) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(deltaTable)); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "_delta_log")
	if err := os.RemoveAll(log); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(log, 0o700); err != nil {
		t.Fatal(err)
	}
	next := 0
	return dir, func(version int) {
		t.Helper()
		for ; next <= version; next++ {
			name := fmt.Sprintf("%020d.json", next)
			text, err := os.ReadFile(filepath.Join(deltaTable, "_delta_log", name))
			if err == nil {
				err = os.WriteFile(filepath.Join(log, name), text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Each epoch has the rows of the snapshot that the table has when the epoch starts, and the order
// of a data set that was opened with it.
func TestRefresh(t *testing.T) {
	dir, grow := growing(t)
	s := tableSpec("")
	s.Addresses, s.Refresh, s.Tail = []string{"delta+" + dir}, RefreshEpoch, shuffle.Short
	grow(1)
	d, err := Open(t.Context(), s, Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for epoch, version := range []int{1, 1, 3, 5} {
		grow(version)
		next, err := d.Refresh(t.Context(), Events{})
		if err != nil {
			t.Fatal(err)
		}
		if same := next == d; same != (epoch < 2) {
			t.Errorf("epoch %d: the same data set: %v", epoch, same)
		}
		if next != d {
			if err := d.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		d = next
		ids, _ := take(t, d, s, 0, 1, 0, nil)
		slices.Sort(ids)
		if want := writtenIDs(t, fmt.Sprint(version)); !slices.Equal(ids, want) {
			t.Errorf("epoch %d: %v, want %v", epoch, ids, want)
		}
	}
}

func TestRefreshRefused(t *testing.T) {
	good := tableSpec("")
	good.Refresh, good.Tail = RefreshEpoch, shuffle.Short
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Spec){
		"word":     func(s *Spec) { s.Refresh = "day" },
		"files":    func(s *Spec) { s.Addresses = []string{"dir"} },
		"sources":  func(s *Spec) { s.Sources, s.Addresses = []Source{{Name: "a", Addresses: s.Addresses, Weight: 1}}, nil },
		"size":     func(s *Spec) { s.EpochSize = 8 },
		"plan":     func(s *Spec) { s.Plan = "run.plan" },
		"manifest": func(s *Spec) { s.Manifest = "run.manifest" },
		"tail":     func(s *Spec) { s.Tail = shuffle.Carry },
		"parts":    func(s *Spec) { s.Parts, s.Part = map[string]float64{"a": 1, "b": 1}, "a" },
	} {
		s := good
		change(&s)
		if e := (*OptionError)(nil); !errors.As(s.Validate(), &e) || e.Field != "Refresh" {
			t.Errorf("%s: %v", name, s.Validate())
		}
	}
	d, err := Open(t.Context(), tableSpec(""), Events{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Refresh(t.Context(), Events{}); err == nil {
		t.Error("refreshed without the option")
	}
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
