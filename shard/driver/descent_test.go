package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// descendingTree lists one directory at a time, as name services do.
type descendingTree struct{ flatTree }

func (f descendingTree) ReadAll(ctx context.Context, root, _ string, keep Keep) ([]Entry, error) {
	return Descend(ctx, ListsAtOnce, "", keep, func(ctx context.Context, dir string, wanted func(Entry) bool) ([]Entry, error) {
		at := strings.TrimSuffix(strings.TrimSuffix(root, "/")+"/"+dir, "/")
		if root == "." {
			at = dir
		}
		if at == "" {
			at = "."
		}
		below, err := f.below(at)
		var all []Entry
		for _, full := range below {
			name, _, isDir := strings.Cut(full, "/")
			e := Entry{Name: name, Size: 1}
			if isDir {
				e.Kind = KindDir
			}
			if wanted(e) && !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
		return all, err
	})
}

// TestDescend lists more directories than walkers, deeply and broadly, each once and no unwanted
// one.
func TestDescend(t *testing.T) {
	var asked, now, most atomic.Int64
	list := func(_ context.Context, dir string, wanted func(Entry) bool) (all []Entry, err error) {
		asked.Add(1)
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(time.Millisecond)
		if strings.HasSuffix(dir, "vanished") {
			return nil, shard.ErrNotExist
		}
		entries := []Entry{{Name: "file", Size: 1}, {Name: "unwanted"}, {Name: "pipe", Kind: KindOther}}
		if strings.Count(dir, "/") < 3 {
			for _, name := range []string{"1", "2", "3", "vanished", "unwanted"} {
				entries = append(entries, Entry{Name: name, Kind: KindDir})
			}
		}
		return slices.DeleteFunc(entries, func(e Entry) bool { return !wanted(e) }), nil
	}
	keep := func(path string, _ bool) bool { return !strings.Contains(path, "unwanted") }
	all, err := Descend(t.Context(), ListsAtOnce, "", keep, list)
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, e := range all {
		names[e.Name] = true
	}
	const dirs, vanished = 1 + 3 + 9 + 27 + 81, 1 + 3 + 9 + 27
	if len(all) != dirs || len(names) != dirs || !names["file"] || !names["1/2/3/1/file"] {
		t.Errorf("%d files, %d names", len(all), len(names))
	}
	if asked.Load() != dirs+vanished {
		t.Errorf("%d directories were listed", asked.Load())
	}
	if n := most.Load(); n < 2 || n > ListsAtOnce {
		t.Errorf("%d lists at a time", n)
	}
}

// TestDescendFails: an error ends the others, and a root that is not there is one.
func TestDescendFails(t *testing.T) {
	broken := fmt.Errorf("%w: broken", shard.ErrTransient)
	for _, c := range []struct {
		at  string
		err error
	}{{"", shard.ErrNotExist}, {"", broken}, {"5", broken}} {
		t.Run(fmt.Sprintf("%q %v", c.at, c.err), func(t *testing.T) {
			all, err := Descend(t.Context(), ListsAtOnce, "", func(string, bool) bool { return true },
				func(ctx context.Context, dir string, _ func(Entry) bool) ([]Entry, error) {
					if dir == c.at {
						return nil, c.err
					}
					if dir != "" {
						<-ctx.Done()
						return nil, ctx.Err()
					}
					var entries []Entry
					for i := range 6 {
						entries = append(entries, Entry{Name: fmt.Sprint(i), Kind: KindDir})
					}
					return entries, nil
				})
			if all != nil || !errors.Is(err, c.err) {
				t.Errorf("%v, %v", all, err)
			}
		})
	}
}

// TestDescendCircle: a directory that lies below itself is entered once on each way.
func TestDescendCircle(t *testing.T) {
	list := func(_ context.Context, dir string, _ func(Entry) bool) ([]Entry, error) {
		if strings.HasSuffix(dir, "b") {
			return []Entry{{Name: "file"}, {Name: "up", Kind: KindDir, Identity: "root"}, {Name: "self", Kind: KindDir, Identity: "b"}}, nil
		}
		return []Entry{{Name: "b", Kind: KindDir, Identity: "b"}, {Name: "again/b", Kind: KindDir, Identity: "b"}}, nil
	}
	all, err := Descend(t.Context(), ListsAtOnce, "root", func(string, bool) bool { return true }, list)
	if err != nil || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
}
