package shard_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

// The figures of a place stay under its name, in whatever order stores add theirs.
func TestTotalsKeepNames(t *testing.T) {
	const places = shard.MaxPlaces + 8
	of := func(i, reads int) []shard.StoreTraffic {
		return []shard.StoreTraffic{{Store: fmt.Sprintf("s3://b%d", i), Traffic: shard.Traffic{Reads: int64(reads)}}}
	}
	closed := shard.NewTotals()
	before := map[string]int64{}
	for round := 1; round <= 4; round++ {
		now := closed.Clone()
		for _, i := range rand.New(rand.NewPCG(uint64(round), 0)).Perm(places) {
			now.Add(of(i, 1))
		}
		if n := len(now.All()); n != shard.MaxPlaces+1 {
			t.Fatalf("%d places, want %d and one for the others", n, shard.MaxPlaces)
		}
		for _, one := range now.All() {
			if round > 1 && before[one.Store] == 0 {
				t.Errorf("round %d: %s has a name that it had not before", round, one.Store)
			}
			before[one.Store] = one.Reads
		}
		if len(before) != shard.MaxPlaces+1 {
			t.Fatalf("round %d: the places change: %v", round, before)
		}
	}
}
