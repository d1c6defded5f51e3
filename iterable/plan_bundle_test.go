package iterable

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// planText is the JSON in a plan file.
func planText(t testing.TB, content []byte) string {
	t.Helper()
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	text, err := z.DecodeAll(content[64:][:binary.LittleEndian.Uint64(content[16:])], nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// parsePlan reads the JSON of a plan.
func parsePlan(t testing.TB, text string) (*SavedPlan, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return ReadPlan(path)
}

// savedPlan saves the plan of a data set, and reads it.
func savedPlan(t testing.TB, d *Dataset) (*SavedPlan, []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.plan")
	if err := d.SavePlan(path, 2, StreamOptions{}); err != nil {
		t.Fatal(err)
	}
	p, err := ReadPlan(path)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return p, content
}

// A counting store counts calls, and the bytes read of shards by name.
type counting struct {
	shard.Store
	mu           sync.Mutex
	lists, opens int
}

func (c *counting) List(ctx context.Context, pattern string) ([]shard.Shard, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists++
	return c.Store.List(ctx, pattern)
}

func (c *counting) Open(ctx context.Context, s shard.Shard) (shard.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opens++
	return c.Store.Open(ctx, s)
}

// A start with a plan lists nothing and reads no footer, however often, and reads what one without
// reads.
func TestPlanSparesFooters(t *testing.T) {
	groups, rows := uneven()
	store := &counting{Store: files(t, groups, noImage)}
	o := Options{Order: Order{Shuffle: true, Seed: 3}, ShuffleBuffer: Size{Rows: 100}}
	first := open(t, store, o)
	saved, content := savedPlan(t, first)
	want := rest(t, stream(t, first, shuffle.Worker{WorldSize: 2}, StreamOptions{BatchSize: 8, Epochs: 1}))
	o = Options{Order: Order{Shuffle: true, Seed: 3}, Plan: saved}
	for _, index := range []string{"", t.TempDir()} {
		store.lists, store.opens = 0, 0
		o.IndexDir = index
		d := open(t, store, o)
		if store.lists+store.opens != 0 || d.NumRows() != rows {
			t.Errorf("%d lists, %d opens, %d rows of %d", store.lists, store.opens, d.NumRows(), rows)
		}
		if left, err := os.ReadDir(index); index != "" && (err != nil || len(left) != 0) {
			t.Errorf("the index has %v, %v", left, err)
		}
		got := rest(t, stream(t, d, shuffle.Worker{WorldSize: 2}, StreamOptions{BatchSize: 8, Epochs: 1}))
		if !slices.EqualFunc(got, want, func(a, b drawn) bool { return slices.Equal(a.ids, b.ids) }) {
			t.Error("the rows differ")
		}
		if _, again := savedPlan(t, d); !bytes.Equal(again, content) {
			t.Error("saved again it is another plan")
		}
	}
}

// The sources of a mixture have their footers too, under new names and partitions.
func TestPlanSparesFootersOfSources(t *testing.T) {
	store := &memstore.Store{}
	for i, s := range [][]int{{30, 20}, {40}} {
		for j, rows := range s {
			b := writeShard(t, []int{rows}, func() record { return record{ID: int64(i)} })
			store.Put(fmt.Sprintf("s%d/day=%d/%d.parquet", i, j, j), b)
		}
	}
	counted := &counting{Store: store}
	o := Options{Order: Order{Shuffle: true}, Reading: Reading{RowIDs: true}, Sources: []Source{
		{Name: "a", Addresses: []string{"mem://s0"}, Weight: 1, Choice: Choice{Filters: "day >= 0"}},
		{Name: "b", Addresses: []string{"mem://s1/*/*.parquet", "mem://s0"}, Weight: 2},
	}}
	stores := shard.Stores{"mem": counted}
	first, err := Open(t.Context(), stores, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	o.Plan, _ = savedPlan(t, first)
	counted.lists, counted.opens = 0, 0
	second, err := Open(t.Context(), stores, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if counted.lists+counted.opens != 0 {
		t.Errorf("%d lists, %d opens", counted.lists, counted.opens)
	}
	for i, s := range second.Shards() {
		if was := first.Shards()[i]; s.URI != was.URI || s.Version != was.Version || s.Source != was.Source || !slices.Equal(s.Partitions, was.Partitions) {
			t.Errorf("%+v, and was %+v", s, was)
		}
	}
	if !reflect.DeepEqual(first.Schema(), second.Schema()) {
		t.Errorf("schema\n%v\nwant\n%v", second.Schema(), first.Schema())
	}
}

// The number of the address that found a shard is that of the list.
func TestPlanKeepsAddressNumbers(t *testing.T) {
	stores := shard.Stores{"mem": files(t, [][]int{{40}, {30}, {5}}, noImage)}
	addresses := []string{"mem://data/part-002.parquet", "mem://data/"}
	first, err := Open(t.Context(), stores, addresses, Options{Reading: Reading{RowIDs: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	saved, _ := savedPlan(t, first)
	second, err := Open(t.Context(), stores, addresses, Options{Reading: Reading{RowIDs: true}, Plan: saved})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if !reflect.DeepEqual(first.Shards(), second.Shards()) || second.Shards()[0].Source != 1 || second.Shards()[2].Source != 0 {
		t.Errorf("%+v, want %+v", second.Shards(), first.Shards())
	}
}

// A plan of other data, or given for other addresses, is checked against a list. A shard that
// changed since is an error where it is read, which names it.
func TestPlanOfOtherData(t *testing.T) {
	store := files(t, [][]int{{40}, {30}}, noImage)
	d := open(t, store, Options{Order: Order{Shuffle: true}})
	saved, _ := savedPlan(t, d)
	stores := shard.Stores{"mem": store}
	store.Put("other/a.parquet", writeShard(t, []int{5}, func() record { return record{} }))
	_, err := Open(t.Context(), stores, []string{"mem://other"}, Options{Order: Order{Shuffle: true}, Plan: saved})
	var gone *ManifestError
	if !errors.As(err, &gone) || !strings.Contains(err.Error(), "removed part-000.parquet") {
		t.Errorf("other data: %v", err)
	}
	spelled, err := Open(t.Context(), stores, []string{"mem://data/*.parquet", "mem://other"}, Options{Order: Order{Shuffle: true}, Plan: saved})
	if err != nil || spelled.NumRows() != 70 {
		t.Fatalf("the same data under another address: %v", err)
	}
	defer spelled.Close()
	store.Put("data/part-001.parquet", writeShard(t, []int{30}, func() record { return record{ID: 1} }))
	late := open(t, store, Options{Order: Order{Shuffle: true}, Plan: saved})
	s := stream(t, late, shuffle.Worker{WorldSize: 1}, StreamOptions{BatchSize: 70})
	if _, err := s.Next(t.Context()); !errors.Is(err, shard.ErrChanged) || !strings.Contains(err.Error(), "mem://data/part-001.parquet") {
		t.Errorf("a changed shard: %v", err)
	}
}

// Whatever byte of a plan is damaged, and wherever it is cut, it is refused with one error.
func TestPlanDamaged(t *testing.T) {
	d := open(t, files(t, [][]int{{40, 12}, {9}}, noImage), Options{Order: Order{Shuffle: true}})
	_, content := savedPlan(t, d)
	store := &memstore.Store{}
	refused := func(b []byte, where string) {
		t.Helper()
		store.Put("run.plan", b)
		_, err := FetchPlan(t.Context(), store, "mem://run.plan")
		var wrong *PlanError
		if !errors.As(err, &wrong) || strings.Count(err.Error(), "\n") > 0 || !strings.HasPrefix(err.Error(), "mem://run.plan: not a plan of shardfeed: ") {
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
	for _, off := range []int{8, 16, 24, 32} { // wrong numbers under a right checksum
		wrong := slices.Clone(content)
		binary.LittleEndian.PutUint32(wrong[off:], 1<<31-1)
		binary.LittleEndian.PutUint32(wrong[60:], crc32.Checksum(wrong[:60], crc32.MakeTable(crc32.Castagnoli)))
		refused(wrong, fmt.Sprintf("the number at %d", off))
	}
}
