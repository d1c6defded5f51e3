package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
)

// noting is an engine with a directory, and whether it was given an inventory each time that it
// opened a data set.
func noting(t *testing.T) (*engine, *[]bool) {
	t.Helper()
	var given []bool
	e := testEngine(t, Options{Open: func(ctx context.Context, r Request, p func(wire.Progress)) (*Data, error) {
		given = append(given, r.Inventory != nil)
		return shop(ctx, r, p)
	}})
	e.dir = t.TempDir()
	return e, &given
}

// What one engine found opens the data set of another, by a file that goes with the data set. Where
// the data set is open, or the file is gone, it makes no difference.
func TestInventory(t *testing.T) {
	e, given := noting(t)
	first := connect(t, e, "d", testSpec())
	s, err := first.ask(wire.Ask{Inventory: "one.inventory", InventoryMost: 1 << 20})
	path := filepath.Join(e.dir, "one.inventory")
	if info, failed := os.Stat(path); err != nil || failed != nil || info.Size() != s.Inventory || info.Mode().Perm() != 0o600 {
		t.Fatalf("%+v, %v, %v", s, err, failed)
	}
	open := func(opening, inventory string) (*client, error) {
		o := wire.Open{Dataset: "d", Spec: testSpec(), Opening: opening, Inventory: inventory}
		c, opened, err := e.open(t.Context(), wire.Hello{}, o, func(wire.Progress) {})
		if err != nil {
			return nil, err
		}
		if opened.Versions != first.group.dataset.summary.Versions {
			t.Errorf("opened %+v", opened)
		}
		t.Cleanup(c.close)
		return c.(*client), nil
	}
	second, err := open("second", "one.inventory")
	if err != nil {
		t.Fatal(err)
	}
	joined, err := open("second", "another.inventory")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*client{second, joined} {
		c.close()
	}
	until(t, "removed", func() bool { _, err := os.Stat(path); return os.IsNotExist(err) })
	if _, err := open("fourth", "one.inventory"); err != nil {
		t.Fatal(err)
	}
	if want := []bool{false, true, false}; !slices.Equal(*given, want) {
		t.Errorf("given %v, want %v", *given, want)
	}
}

func TestInventoryRefused(t *testing.T) {
	e, given := noting(t)
	c := connect(t, e, "d", testSpec())
	for _, name := range []string{"../x.inventory", "a/b.inventory", "/tmp/x.inventory", "engine.sock", ".inventory/", "x.inventory\n"} {
		if _, err := c.ask(wire.Ask{Inventory: name, InventoryMost: 1 << 20}); wire.KindOf(err) != wire.KindProtocol {
			t.Errorf("writing %q: %v", name, err)
		}
		if _, _, err := e.open(t.Context(), wire.Hello{}, wire.Open{Dataset: "d", Spec: testSpec(), Opening: name, Inventory: name}, func(wire.Progress) {}); wire.KindOf(err) != wire.KindProtocol {
			t.Errorf("opening by %q: %v", name, err)
		}
	}
	if s, err := c.ask(wire.Ask{Inventory: "a.inventory", InventoryMost: 10}); err != nil || s.NoInventory != wire.InventoryLarge || s.Inventory != 0 {
		t.Errorf("10 bytes: %+v, %v", s, err)
	}
	damaged := filepath.Join(e.dir, "a.inventory")
	if err := os.WriteFile(damaged, []byte("sfinven\nand no more"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ask(wire.Ask{Inventory: "a.inventory", InventoryMost: 1 << 20}); !os.IsExist(err) {
		t.Errorf("over another file: %v", err)
	}
	_, _, err := e.open(t.Context(), wire.Hello{}, wire.Open{Dataset: "d", Spec: testSpec(), Opening: "2", Inventory: "a.inventory"}, func(wire.Progress) {})
	if f := wire.FailureOf(err); f.Kind != wire.KindData || !strings.Contains(f.Text, "what the first node found is damaged: it was cut short at 19 bytes") {
		t.Errorf("damaged: %+v", f)
	}
	if len(*given) != 1 {
		t.Errorf("opened %d times", len(*given))
	}
}

// One client of a data set gets the documents, in a file beside the socket. Where they were
// compared before, or cannot be read, there is no file.
func TestDocuments(t *testing.T) {
	content, failed := []byte("{}"), error(nil)
	e := testEngine(t, Options{Open: func(ctx context.Context, r Request, p func(wire.Progress)) (*Data, error) {
		d, err := shop(ctx, r, p)
		if err == nil {
			d.Documents = func(_ context.Context, library string) ([]byte, error) {
				if library != "tokenizers 1" {
					t.Errorf("asked for %q", library)
				}
				return content, failed
			}
		}
		return d, err
	}})
	e.dir = t.TempDir()
	c := connect(t, e, "first", testSpec())
	if _, err := c.ask(wire.Ask{Documents: "../x.documents", Library: "tokenizers 1"}); wire.KindOf(err) != wire.KindProtocol {
		t.Errorf("another place: %v", err)
	}
	ask := func(c *client, want int64, fails error) {
		t.Helper()
		path := filepath.Join(e.dir, "a.documents")
		s, err := c.ask(wire.Ask{Documents: "a.documents", Library: "tokenizers 1"})
		b, _ := os.ReadFile(path)
		_ = os.Remove(path)
		if s.Documents != want || int64(len(b)) != want || !errors.Is(err, fails) {
			t.Errorf("got %d bytes, a file of %d, and the error %v", s.Documents, len(b), err)
		}
	}
	ask(c, 2, nil)
	ask(connect(t, e, "second", testSpec()), 0, nil)
	other := testSpec()
	other.Seed++
	content = nil
	ask(connect(t, e, "third", other), 0, nil)
	other.Seed++
	failed = os.ErrPermission
	ask(connect(t, e, "fourth", other), 0, os.ErrPermission)
}
