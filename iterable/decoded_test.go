package iterable

import (
	"testing"

	"github.com/shardfeed/shardfeed/iterable/internal/estimate"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A stream asks for the sizes of the shards that it reads alone, and they are those of the files.
func TestDecodedOfOwnShards(t *testing.T) {
	groups, _ := uneven()
	d := open(t, files(t, groups, noImage), Options{Order: Order{Shuffle: true}, ShuffleBuffer: Size{Rows: 100}})
	of := d.sources[0]
	right, asked := of.sizes.decoded, map[int32]bool{}
	of.sizes.decoded = func(g int) estimate.Group {
		asked[of.manifest.Groups()[g].Shard] = true
		return right(g)
	}
	if err := stream(t, d, shuffle.Worker{Rank: 1, WorldSize: 8}, StreamOptions{BatchSize: 4}).Close(); err != nil {
		t.Error(err)
	}
	if len(asked) == 0 || len(asked) == len(of.manifest.Shards()) {
		t.Errorf("a rank of 8 asked for the sizes of %d shards of %d", len(asked), len(of.manifest.Shards()))
	}
	for g := range of.manifest.Groups() {
		got := right(g)
		narrow, wide := of.manifest.DecodedBytes(g)
		if got.Narrow != narrow || got.Wide != wide || got.Scratch != of.manifest.Scratch(g) {
			t.Errorf("group %d takes %+v, want %d and %d bytes", g, got, narrow, wide)
		}
	}
}

// Ranks of one data set share a plan, and with a saved plan its list of shards too; another seed or
// other parameters make another plan.
func TestPlansAreShared(t *testing.T) {
	groups, _ := uneven()
	store := files(t, groups, noImage)
	d := open(t, store, Options{Order: Order{Shuffle: true, Seed: 3}, ShuffleBuffer: Size{Rows: 100}})
	first, err := d.orderOf(2, StreamOptions{BatchSize: 4, Tail: shuffle.Pad}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		world  int
		tail   shuffle.Tail
		shared bool
	}{{"the same", 2, shuffle.Pad, true}, {"another tail", 2, shuffle.Short, false}, {"another world", 64, shuffle.Pad, false}} {
		t.Run(c.name, func(t *testing.T) {
			d.sources[0].last = first.(*planOrder).plan
			r, err := d.orderOf(c.world, StreamOptions{BatchSize: 4, Tail: c.tail}, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			if (r.(*planOrder).plan == first.(*planOrder).plan) != c.shared {
				t.Errorf("shared: %t", !c.shared)
			}
		})
	}
	saved, _ := savedPlan(t, d)
	planned := open(t, store, Options{Order: Order{Shuffle: true, Seed: 3}, Plan: saved})
	if &planned.sources[0].data.Shards[0] != &saved.Manifest.Shards[0] || &planned.sources[0].data.Groups[0] != &saved.Manifest.Groups[0] {
		t.Error("the list of shards is held twice")
	}
}
