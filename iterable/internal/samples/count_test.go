package samples

import (
	"path/filepath"
	"testing"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable/internal/transform"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/shuffle"
)

// openShop opens the files of the shop under a rule, with columns as changes make them.
func openShop(t *testing.T, o Options, changes transform.Options) *Data {
	t.Helper()
	stores := shard.Stores{"": local.Store{}}
	shards, err := shard.Discover(t.Context(), stores, []string{"../../../testdata/shop"}, shard.DiscoverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o.Filter = o.Parse(&option.List{New: option.NewError})
	m, err := rowgroup.Open(t.Context(), stores, shards, rowgroup.Options{RuleColumns: o.Columns().List})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	list := &shuffle.Manifest{}
	for i, path := range shard.RelativePaths(m.Shards()) {
		list.Shards = append(list.Shards, shuffle.Shard{Path: path, Size: m.Shards()[i].Size, Version: m.Shards()[i].Version})
	}
	for _, g := range m.Groups() {
		list.Groups = append(list.Groups, shuffle.Group{Shard: g.Shard, Index: g.RowGroup, Rows: g.Rows})
	}
	delivered, err := transform.Bind(m.Schema(), changes)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := Bind(o, m, list, &delivered)
	if err != nil {
		t.Fatal(err)
	}
	return &Data{Manifest: m, List: list, Rules: rules, Budget: mem.NewBudget(0), Memory: 1 << 30, Fetchers: 2}
}

// A start that is killed while it counts leaves what it published: the next counts the rest.
func TestCountsOfAKilledStartAreKept(t *testing.T) {
	d := openShop(t, Options{Choice: Choice{Filters: "price > 1"}}, transform.Options{})
	dir := filepath.Join(t.TempDir(), "index")
	begin := func() *counter {
		var units []shuffle.Unit
		for g, group := range d.List.Groups {
			units = append(units, shuffle.Unit{Group: g, Hi: group.Rows})
		}
		c := d.newCounter(units, Counting{Identity: func(uri string) string { return uri }})
		var err error
		if c.dir, err = openCounts(dir); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.dir.Close() })
		c.keep()
		return c
	}
	const read = 2
	killed := begin()
	killed.every, killed.sums = 0, make([]int64, len(killed.units))
	for range read + 1 { // the last look publishes those before
		g, ok := killed.next(t.Context())
		if !ok {
			t.Fatal("nothing to count")
		}
		for u := killed.groups[g]; u < killed.groups[g+1]; u++ {
			killed.sums[u] = int64(u % 3)
		}
		killed.counted(g)
	}
	c := begin()
	if c.done != read {
		t.Fatalf("%d row groups are known, want %d", c.done, read)
	}
	for u := range c.groups[read] {
		if c.units[u].Samples != int64(u%3) {
			t.Errorf("unit %d has %d samples", u, c.units[u].Samples)
		}
	}
	if err := c.read(t.Context()); err != nil || !c.complete() {
		t.Errorf("complete %t, %v", c.complete(), err)
	}
	if again := begin(); !again.complete() {
		t.Errorf("%d of %d row groups are known after a whole pass", again.done, len(again.left))
	}
}
