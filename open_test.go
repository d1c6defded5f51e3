package shardfeed

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

// rowsOf reads an epoch.
func rowsOf(t *testing.T, d *Dataset, o loader.Options) (rows int) {
	t.Helper()
	l, err := loader.New(d.Dataset, o)
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		rows += b.Valid
		b.Release()
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	return rows
}

func TestOpen(t *testing.T) {
	t.Setenv(dirVariable, t.TempDir())
	var footers int
	s := Spec{Addresses: []string{shop}, Columns: []string{"price"}, Order: Order{Shuffle: true, Seed: 7}, Memory: "64MiB", BatchSize: 100}
	d, err := Open(t.Context(), s, Events{Footers: func(n, _ int) { footers = max(footers, n) }})
	if err != nil {
		t.Fatal(err)
	}
	if rows := rowsOf(t, d, s.LoaderOptions()); rows != 2026 || footers == 0 {
		t.Errorf("%d rows, %d footers", rows, footers)
	}
	if err := d.KeepManifest(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := d.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// Data sets of a host share its budget, and each can be closed while the others are read.
func TestHost(t *testing.T) {
	t.Setenv(dirVariable, t.TempDir())
	h := NewHost(iterable.NewBudget(1 << 30))
	s := Spec{Addresses: []string{shop}, Columns: []string{"price"}}
	one, err := h.Open(t.Context(), s, Events{})
	if err != nil {
		t.Fatal(err)
	}
	two, err := h.Open(t.Context(), s, Events{})
	if err != nil {
		t.Fatal(err)
	}
	if one.Budget() != h.Budget() || two.Budget() != h.Budget() {
		t.Error("they have budgets of their own")
	}
	if err := one.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if rows := rowsOf(t, two, loader.Options{BatchSize: 500}); rows != 2026 {
		t.Errorf("%d rows", rows)
	}
	if err := errors.Join(two.Close(t.Context()), h.Close(t.Context())); err != nil {
		t.Error(err)
	}
}

// One error lists everything that cannot be meant, before anything is opened.
func TestOpenRefuses(t *testing.T) {
	_, err := Open(t.Context(), Spec{Missing: "perhaps", Order: Order{Lanes: -1}, Memory: "much"}, Events{})
	for _, want := range []string{"Addresses must name", `Missing must be error or null, got "perhaps"`, "Lanes must not be negative", "Memory must be bytes"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	_, err = Open(t.Context(), Spec{Addresses: []string{"testdata/none"}}, Events{})
	if err == nil {
		t.Error("a directory that does not exist was opened")
	}
}

// A data set that another node has found is opened without a look at its files.
func TestOpenByInventory(t *testing.T) {
	t.Setenv(dirVariable, t.TempDir())
	dir := filepath.Join(t.TempDir(), "shop")
	if err := os.CopyFS(dir, os.DirFS(shop)); err != nil {
		t.Fatal(err)
	}
	s := Spec{Addresses: []string{dir}, Columns: []string{"price"}, Caching: Caching{NoCache: true}}
	var rows []int64
	for range 2 {
		d, err := Open(t.Context(), s, Events{})
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, d.NumRows())
		b, err := d.Inventory(1 << 20)
		if err != nil {
			t.Fatal(err)
		}
		if s.Inventory, err = iterable.ParseInventory(b); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(d.Close(t.Context()), os.RemoveAll(dir)); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(rows, []int64{2026, 2026}) {
		t.Errorf("%d rows", rows)
	}
}
