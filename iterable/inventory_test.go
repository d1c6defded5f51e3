package iterable

import (
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// inventoryOf is what a data set found, as another node gets it.
func inventoryOf(t testing.TB, d *Dataset) *Inventory {
	t.Helper()
	b, err := d.Inventory(math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	v, err := ParseInventory(b)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A start with an inventory lists nothing, reads no footer and counts nothing. It has the order
// that it would have without one, whatever of the order the options pin.
func TestInventorySparesFooters(t *testing.T) {
	groups, rows := uneven()
	store := &counting{Store: files(t, groups, noImage)}
	for name, o := range map[string]Options{
		"shuffled":   {Order: Order{Shuffle: true, Seed: 3}, ShuffleBuffer: Size{Rows: 100}},
		"file order": {},
		"pinned":     {Order: Order{Shuffle: true, Lanes: 4, UnitRows: 7}},
		"filtered":   {Order: Order{Shuffle: true}, Choice: Choice{Filters: "id >= 20"}},
		"both":       {Order: Order{Shuffle: true, UnitRows: 7}, Choice: Choice{Filters: "id >= 20"}},
	} {
		t.Run(name, func(t *testing.T) {
			first := open(t, store, o)
			want := rest(t, stream(t, first, shuffle.Worker{WorldSize: 2}, StreamOptions{BatchSize: 8, Epochs: 1}))
			o.Inventory = inventoryOf(t, first)
			store.lists, store.opens = 0, 0
			d := open(t, store, o)
			if store.lists+store.opens != 0 || d.NumRows() != rows || d.NumSamples() != first.NumSamples() {
				t.Errorf("%d lists, %d opens, %d rows of %d, %d samples of %d", store.lists, store.opens, d.NumRows(), rows, d.NumSamples(), first.NumSamples())
			}
			if d.Content() != first.Content() || d.Versions() != first.Versions() {
				t.Error("the shards differ")
			}
			got := rest(t, stream(t, d, shuffle.Worker{WorldSize: 2}, StreamOptions{BatchSize: 8, Epochs: 1}))
			if !slices.EqualFunc(got, want, func(a, b drawn) bool { return slices.Equal(a.ids, b.ids) }) {
				t.Error("the rows differ")
			}
		})
	}
}

// Footers of an inventory are kept: the node may be the one that lists for all next time.
func TestInventoryIsKept(t *testing.T) {
	store := &counting{Store: files(t, [][]int{{40, 12}, {9}}, noImage)}
	v, index := inventoryOf(t, open(t, store, Options{})), t.TempDir()
	for range 2 {
		open(t, store, Options{Inventory: v, IndexDir: index})
	}
	store.lists, store.opens = 0, 0
	if d := open(t, store, Options{IndexDir: index}); store.lists != 1 || store.opens != 0 || d.NumRows() != 61 {
		t.Errorf("%d lists, %d opens, %d rows", store.lists, store.opens, d.NumRows())
	}
	if left, err := os.ReadDir(index); err != nil || len(left) != 1 {
		t.Errorf("the index has %v, %v", left, err)
	}
}

// Under another rule the rows are counted here, so that the ranks can say how their rules differ.
func TestInventoryOfAnotherRule(t *testing.T) {
	store := files(t, [][]int{{40, 12}, {9}}, noImage)
	v := inventoryOf(t, open(t, store, Options{Choice: Choice{Filters: "id >= 20"}}))
	for filter, want := range map[string]int64{"id >= 20": 41, "id >= 30": 31, "": 61} {
		if d := open(t, store, Options{Choice: Choice{Filters: filter}, Inventory: v}); d.NumSamples() != want {
			t.Errorf("%q keeps %d rows, want %d", filter, d.NumSamples(), want)
		}
	}
}

// The sources of a mixture, their names and their tokens.
func TestInventoryOfSources(t *testing.T) {
	store := &memstore.Store{}
	for i, rows := range []int{30, 40} {
		store.Put(fmt.Sprintf("s%d/day=%d/a.parquet", i, i), writeShard(t, []int{rows}, func() record { return record{ID: int64(i)} }))
	}
	counted := &counting{Store: store}
	stores := shard.Stores{"mem": counted}
	o := Options{Order: Order{Shuffle: true}, Reading: Reading{RowIDs: true}, Sources: []Source{
		{Name: "a", Addresses: []string{"mem://s0"}, Weight: 1, Choice: Choice{Filters: "id >= 0"}},
		{Name: "b", Addresses: []string{"mem://s1/*/*.parquet", "mem://s0"}, Weight: 2},
	}}
	openAll := func(o Options) (*Dataset, error) {
		d, err := Open(t.Context(), stores, nil, o)
		if err == nil {
			t.Cleanup(func() { _ = d.Close() })
		}
		return d, err
	}
	first, err := openAll(o)
	if err != nil {
		t.Fatal(err)
	}
	o.Inventory = inventoryOf(t, first)
	counted.lists, counted.opens = 0, 0
	second, err := openAll(o)
	if err != nil || counted.lists+counted.opens != 0 || !reflect.DeepEqual(first.Shards(), second.Shards()) {
		t.Fatalf("%d lists, %d opens, %v", counted.lists, counted.opens, err)
	}
	o.Sources = slices.Clone(o.Sources)
	o.Sources[1].Name = "c"
	if _, err := openAll(o); err == nil || !strings.Contains(err.Error(), `is of the sources ["a" "b"], and there are ["a" "c"]`) {
		t.Errorf("another name: %v", err)
	}
	o.Sources[1].Name, o.Sources[1].Addresses = "b", []string{"mem://s0"}
	var wrong *InventoryError
	if _, err := openAll(o); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "opened mem://s1/*/*.parquet, mem://s0, and this one opens mem://s0:") {
		t.Errorf("another address: %v", err)
	}
}

// What cannot be handed on says why, and nothing secret is.
func TestInventoryRefuses(t *testing.T) {
	store := files(t, [][]int{{40}, {30}}, noImage)
	d := open(t, store, Options{})
	if _, err := d.Inventory(100); !errors.Is(err, ErrLargeInventory) {
		t.Errorf("100 bytes: %v", err)
	}
	v := inventoryOf(t, d)
	var wrong *InventoryError
	if _, err := Open(t.Context(), shard.Stores{"mem": store}, []string{"mem://data/*.parquet"}, Options{Inventory: v}); !errors.As(err, &wrong) || wrong.Damaged {
		t.Errorf("another address: %v", err)
	}
	if _, err := Open(t.Context(), shard.Stores{"mem": store}, []string{"mem://data/"}, Options{Inventory: v, Plan: &SavedPlan{Manifest: d.sources[0].data}}); err == nil || !strings.Contains(err.Error(), "Inventory is part of the Plan") {
		t.Errorf("a plan too: %v", err)
	}
	d.sources[0].addresses = []string{"s3://key:secret@host/table"}
	if _, err := d.Inventory(math.MaxInt64); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "credentials") || strings.Contains(err.Error(), "secret") {
		t.Errorf("credentials: %v", err)
	}
}

// Whatever byte is damaged, and wherever it is cut, it is refused with one error. A plan is none.
func TestInventoryDamaged(t *testing.T) {
	d := open(t, files(t, [][]int{{40, 12}, {9}}, noImage), Options{Choice: Choice{Filters: "id > 3"}})
	content, err := d.Inventory(math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(b []byte, where string) {
		t.Helper()
		_, err := ParseInventory(b)
		var wrong *InventoryError
		if !errors.As(err, &wrong) || !wrong.Damaged || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", where, err)
		}
	}
	for i := range content {
		damaged := slices.Clone(content)
		damaged[i] ^= 0x10
		refused(damaged, fmt.Sprintf("byte %d", i))
	}
	for n := range content {
		refused(content[:n], fmt.Sprintf("cut to %d bytes", n))
	}
	refused(append(slices.Clone(content), 0), "a byte more")
	_, plan := savedPlan(t, d)
	refused(plan, "a plan")
	path := t.TempDir() + "/inventory"
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPlan(path); err == nil {
		t.Error("it is read as a plan")
	}
}
