package keep

import (
	"slices"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
)

// Columns are chosen by what they save for a byte, as far as the limit goes; until all are
// measured, none is left out.
func TestGains(t *testing.T) {
	stores := shard.Stores{"": local.Store{}}
	shards, err := shard.Discover(t.Context(), stores, []string{"../../../testdata/shop"}, shard.DiscoverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := rowgroup.Open(t.Context(), stores, shards, rowgroup.Options{Columns: []string{"title", "token_ids", "price"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	rows := m.NumRows()
	a := &New(nil, 0, nil, 0).gains
	if got := a.columns(m, 0, true); len(got) != 3 {
		t.Fatalf("%v before anything is measured", got)
	}
	measure := func(col int, bytes int64, took time.Duration) {
		for range tryGroups {
			a.learn(m, rowgroup.Image{Rows: rows / tryGroups, Columns: []rowgroup.ImageColumn{{Column: col, Bytes: bytes / tryGroups, Decode: took / tryGroups}}})
		}
	}
	a.limit = 1000
	measure(0, 700, 7*time.Microsecond)
	if got := a.columns(m, 0, true); len(got) != 3 {
		t.Errorf("%v while two columns are not measured", got)
	}
	measure(1, 900, 90*time.Microsecond)
	measure(2, 100, 5*time.Microsecond)
	if set := New(nil, 0, nil, 950).gains.limit; set != 950 {
		t.Errorf("limit %d", set)
	}
	for limit, want := range map[int64][]int{0: {1, 2, 0}, 2000: {1, 2, 0}, 1100: {1, 2}, 950: {1}, 500: {}} {
		a.limit = limit
		if got := a.columns(m, 0, true); !slices.Equal(got, want) {
			t.Errorf("limit %d: %v, want %v", limit, got, want)
		}
	}
	a.limit = 0
	a.learn(m, rowgroup.Image{Rows: rows, Columns: []rowgroup.ImageColumn{{Column: 0, Bytes: 1, Decode: 1, Copy: time.Second}}})
	if got := a.columns(m, 0, false); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("%v where images are copied, and one column takes longer to copy than to decode", got)
	}
}
