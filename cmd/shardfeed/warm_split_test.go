package main

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/shard"
)

// What several sources read of a shard is warmed once, with the columns of all their rules, and the
// ranks together warm all of it.
func TestWarmSourcesThatShareShards(t *testing.T) {
	shop, err := filepath.Abs("../../testdata/shop")
	if err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(shop, "part-00000.parquet")
	bytesOf := func(world int, sources ...shardfeed.Source) (bytes int64, groups, shards int) {
		spec := shardfeed.Spec{Sources: sources, Order: shardfeed.Order{Shuffle: true}, Columns: []string{"unique_id"}, Caching: shardfeed.Caching{NoCache: true, IndexDir: t.TempDir()}}
		ds, err := shardfeed.Open(t.Context(), spec, shardfeed.Events{})
		if err != nil {
			t.Fatal(err)
		}
		defer ds.Close(t.Context())
		kept, err := ds.KeptGroups()
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for rank := range world {
			for _, w := range warmShards(ds.Manifests(), kept, rank, world) {
				bytes, groups = bytes+w.bytes, groups+len(w.rowGroups)
				seen[w.URI] = true
			}
		}
		return bytes, groups, len(seen)
	}
	plain := shardfeed.Source{Name: "a", Addresses: []string{shop}, Weight: 1}
	ruled := shardfeed.Source{Name: "b", Addresses: []string{first}, Weight: 1, Choice: shardfeed.Choice{Filters: "len(token_ids) > 1"}}
	all, groups, shards := bytesOf(1, plain)
	alone, own, _ := bytesOf(1, ruled)
	one, _, _ := bytesOf(1, shardfeed.Source{Name: "c", Addresses: []string{first}, Weight: 1})
	if got, n, of := bytesOf(1, plain, ruled); got != all+alone-one || n != groups || of != shards || alone <= one || own >= groups {
		t.Errorf("%d bytes in %d row groups of %d shards, want %d in %d of %d", got, n, of, all+alone-one, groups, shards)
	}
	other := shardfeed.Source{Name: "b", Addresses: []string{filepath.Join(shop, "part-00001.parquet")}, Weight: 1}
	both := []shardfeed.Source{{Name: "a", Addresses: []string{first}, Weight: 1}, other}
	want, wantGroups, _ := bytesOf(1, both...)
	if got, n, _ := bytesOf(3, both...); got != want || n != wantGroups || got <= one {
		t.Errorf("three ranks warm %d bytes in %d row groups, one %d in %d", got, n, want, wantGroups)
	}
}

func TestUnitedSpans(t *testing.T) {
	for _, c := range []struct {
		name     string
		in, want []shard.Span
	}{
		{"apart", []shard.Span{{Off: 50, N: 5}, {Off: 0, N: 10}}, []shard.Span{{Off: 0, N: 10}, {Off: 50, N: 5}}},
		{"the same", []shard.Span{{Off: 5, N: 5}, {Off: 5, N: 5}}, []shard.Span{{Off: 5, N: 5}}},
		{"over each other", []shard.Span{{Off: 0, N: 10}, {Off: 5, N: 10}, {Off: 7, N: 1}}, []shard.Span{{Off: 0, N: 15}}},
		{"side by side", []shard.Span{{Off: 0, N: 10}, {Off: 10, N: 10}}, []shard.Span{{Off: 0, N: 20}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := unitedSpans(c.in); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// The parts are contiguous and disjoint, hold everything, and are even up to the largest item.
func TestSplitBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		bytes := make([]int64, r.IntN(40))
		var total, largest int64
		for i := range bytes {
			bytes[i] = r.Int64N(1000)
			if r.IntN(4) == 0 {
				bytes[i] = 0
			}
			total += bytes[i]
			largest = max(largest, bytes[i])
		}
		worldSize := 1 + r.IntN(12)
		next := 0
		for rank := range worldSize {
			first, end := splitBytes(bytes, rank, worldSize)
			if first != next && first != end || end < first {
				t.Fatalf("%v: rank %d of %d has %d to %d, after %d", bytes, rank, worldSize, first, end, next)
			}
			if first != end {
				next = end
			}
			var mine int64
			for _, n := range bytes[first:end] {
				mine += n
			}
			if fair := float64(total) / float64(worldSize); float64(mine) > fair+float64(largest) || float64(mine) < fair-float64(largest) {
				t.Fatalf("%v: rank %d of %d has %d bytes of %d", bytes, rank, worldSize, mine, total)
			}
		}
		if next != len(bytes) {
			t.Fatalf("%v: the items from %d on are nobody's", bytes, next)
		}
	}
}
