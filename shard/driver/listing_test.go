package driver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// A chain of pages that comes back to a token ends, wherever its circle begins and however long it
// is.
func TestPages(t *testing.T) {
	for _, c := range []struct{ before, circle int }{{0, 1}, {5, 1}, {0, 2}, {3, 7}, {1000, 100}} {
		t.Run(fmt.Sprintf("%d before a circle of %d", c.before, c.circle), func(t *testing.T) {
			var p driver.Pages
			for i := range 4 * (c.before + c.circle + 1) {
				at := i
				if i >= c.before {
					at = c.before + (i-c.before)%c.circle
				}
				if err := p.Next(fmt.Sprint(at)); errors.Is(err, shard.ErrCorrupt) && i > c.before {
					return
				} else if err != nil {
					t.Fatalf("token %d: %v", i, err)
				}
			}
			t.Error("the circle was not noticed")
		})
	}
	t.Run("a chain that ends", func(t *testing.T) {
		var p driver.Pages
		for i := range 10_000 {
			if err := p.Next(fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A list ends with an error at each of its bounds, and files that are listed again count once.
func TestListing(t *testing.T) {
	page := make([]driver.Entry, 1000)
	long := []driver.Entry{{Name: strings.Repeat("x", 1<<20)}}
	for _, c := range []struct {
		name  string
		page  []driver.Entry
		pages int // that are within the bound
		want  string
	}{
		{"entries", page, driver.MaxEntries / len(page), "over 10000000 files and directories"},
		{"names", long, driver.MaxNames >> 20, "over 1073741824 bytes of names"},
		{"pages", nil, driver.MaxPages, "over 1000000 pages"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := driver.NewListing(nil)
			for range c.pages {
				if err := l.Take(c.page); err != nil {
					t.Fatal(err)
				}
			}
			err := l.Take(c.page)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "give narrower addresses") {
				t.Errorf("error %v", err)
			}
		})
	}
	t.Run("files", func(t *testing.T) {
		told := 0
		l := driver.NewListing(func(files int) { told = files })
		some := []driver.Entry{{Name: "a"}, {Name: "b", Kind: driver.KindDir}, {Name: "c"}}
		for range 3 {
			if err := l.Take(some); err != nil || told != 2 {
				t.Errorf("%d files, %v", told, err)
			}
			l.Undo(some)
		}
	})
}
