package bucket

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// names are the sorted keys of a bucket.
type names struct {
	keys      []string
	size      int // keys of a page
	unordered bool
	pages     atomic.Int64
}

func (n *names) Locate(path string) (Location, error) {
	bucket, key, _ := strings.Cut(path, "/")
	return Location{Bucket: bucket, Key: key, Unordered: n.unordered}, nil
}

func (n *names) Look(_ context.Context, path string) (driver.Entry, error) {
	_, key, _ := strings.Cut(path, "/")
	if !slices.Contains(n.keys, key) {
		return driver.Entry{}, shard.ErrNotExist
	}
	return driver.Entry{Name: key, Size: 1}, nil
}

func (n *names) Refusal(error) Refusal { return NotRefused }

// Page returns keys behind After or Token. A directory counts as one of them.
func (n *names) Page(_ context.Context, _ string, q Query) (*Page, error) {
	n.pages.Add(1)
	if n.unordered && q.After != "" {
		return nil, fmt.Errorf("asked for keys behind %s in a bucket without an order", q.After)
	}
	p := &Page{}
	last := max(q.After, q.Token)
	for _, key := range n.keys {
		if !strings.HasPrefix(key, q.Prefix) || key <= last {
			continue
		}
		dir, _, below := strings.Cut(key[len(q.Prefix):], "/")
		dir = q.Prefix + dir + "/"
		if q.Level && below && slices.Contains(p.Dirs, dir) {
			continue
		}
		if len(p.Files)+len(p.Dirs) == n.size {
			p.Next = last
			break
		}
		switch {
		case q.Level && below:
			p.Dirs = append(p.Dirs, dir)
			last = dir + afterAllBelow
		case strings.HasSuffix(key, "/"):
			p.Marked, p.Last, last = true, key, key
		default:
			p.Files = append(p.Files, driver.Entry{Name: key, Size: 1})
			p.Last, last = key, key
		}
	}
	return p, nil
}

// A walk finds the same files whatever the pages and the order, and does not list what no pattern
// matches.
func TestWalk(t *testing.T) {
	var keys []string
	for i := range 40 {
		keys = append(keys, fmt.Sprintf("t/k=%02d/", i), fmt.Sprintf("t/z-%02d", i))
		for j := range 9 {
			keys = append(keys, fmt.Sprintf("t/k=%02d/part-%d", i, j))
		}
	}
	sort.Strings(keys)
	for _, c := range []struct {
		pattern          string
		want, mostSpread int
	}{
		{"b/t", 400, 400},
		{"b/t/k=0*/part-{3..5}", 30, 180},
		{"b/t/k=07/part-1", 1, 3},
		{"b/t/**/part-8", 40, 400},
		{"b/t/z-1*", 10, 30},
	} {
		for _, size := range []int{1000, 7, 2} {
			for _, unordered := range []bool{false, true} {
				source := &names{keys: keys, size: size, unordered: unordered}
				found, err := driver.Walk(t.Context(), NewTree(source, "s3://", driver.NewListing(nil)), c.pattern, 4)
				if err != nil || len(found) != c.want {
					t.Errorf("%s, pages of %d, unordered %t: %d files, %v", c.pattern, size, unordered, len(found), err)
				}
				if n := source.pages.Load(); n > int64(c.mostSpread) {
					t.Errorf("%s, pages of %d, unordered %t: %d pages", c.pattern, size, unordered, n)
				}
			}
		}
	}
}
