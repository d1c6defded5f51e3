package iterable

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shuffle"
)

// nodes count a table on one index directory, each with a counter of its own.
type nodes struct {
	t       *testing.T
	dataset *Dataset
	dir     string
	groups  atomic.Int64 // that were read, over all nodes
}

func (n *nodes) counter() (*counter, []shuffle.Unit) {
	n.t.Helper()
	cut, err := n.dataset.cut(0)
	if err != nil {
		n.t.Fatal(err)
	}
	units := cut.List()
	for i := range units {
		units[i].Samples = units[i].Rows()
	}
	c := n.dataset.newCounter(units)
	c.partBytes, c.every = 1, time.Millisecond // a row group is a part
	if c.dir, err = openCounts(n.dir); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = c.dir.Close() })
	return c, units
}

func newNodes(t *testing.T, latency time.Duration) *nodes {
	table := ruledRows(t, rand.New(rand.NewPCG(3, 14)), slices.Repeat([][]int{{20, 20, 20, 20}}, 10))
	n := &nodes{t: t, dir: filepath.Join(t.TempDir(), "index")}
	n.dataset = open(t, &far{Store: table.store, latency: latency, parallel: 2}, Options{
		Keep: &Keep{Name: "count", Columns: []string{"id"}, Func: func([]rule.Column, int, []uint64) error {
			n.groups.Add(1)
			return nil
		}},
	})
	n.groups.Store(0)
	return n
}

// Nodes that count at once divide the work: hardly a part is counted twice, and each knows all.
func TestNodesDivideTheCounting(t *testing.T) {
	n := newNodes(t, time.Millisecond)
	const all = 4
	var running sync.WaitGroup
	for range all {
		c, units := n.counter()
		running.Go(func() {
			c.keep()
			if err := c.read(t.Context()); err != nil {
				t.Error(err)
			}
			if !c.complete() || slices.ContainsFunc(units, func(u shuffle.Unit) bool { return u.Samples != u.Rows() }) {
				t.Errorf("units %v", units)
			}
		})
	}
	running.Wait()
	workers := int64(all * (2 + 8)) // what each had begun when the last part was claimed
	if got := n.groups.Load(); got < 40 || got > 40+workers {
		t.Errorf("%d row groups were counted, of 40", got)
	}
	for _, name := range readDir(t, n.dir) {
		if strings.Contains(name, "claim") {
			t.Errorf("claim %s is left", name)
		}
	}
}

// A node that dies leaves claims and what it published: another counts the rest at once.
func TestNodeThatDiesIsNotWaitedFor(t *testing.T) {
	n := newNodes(t, 0)
	dead, _ := n.counter()
	dead.keep()
	dead.divide()
	for range 10 { // it counted ten parts, published those, and claimed three more
		g, ok := dead.next(t.Context())
		if !ok {
			t.Fatal("nothing to count")
		}
		dead.sums = make([]int64, len(dead.units))
		for u := dead.groups[g]; u < dead.groups[g+1]; u++ {
			dead.sums[u] = dead.units[u].Rows()
		}
		dead.counted(g)
	}
	dead.publish()
	for range 3 {
		dead.next(t.Context())
	}
	c, _ := n.counter()
	c.keep()
	if err := c.read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := n.groups.Load(); got != 30 || !c.complete() {
		t.Errorf("%d row groups were counted, want 30", got)
	}
}
