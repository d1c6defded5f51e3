package shard_test

import (
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/mem"
)

// A likes is a store that likes so many reads at once.
type likes struct {
	mem.Store
	shard.Remote
	n int
}

func (s *likes) Parallel(string) int { return s.n }

func TestReadsOf(t *testing.T) {
	stores := shard.Stores{"few": &likes{n: 3}, "many": &likes{n: 70}, "mem": &mem.Store{}}
	of := func(addresses ...string) (all []shard.Shard) {
		for _, a := range addresses {
			all = append(all, shard.Shard{URI: a})
		}
		return all
	}
	for _, c := range []struct {
		shards []shard.Shard
		want   int
	}{
		{nil, 0},
		{of("mem://a", "mem://b"), 0},
		{of("mem://a", "few://b", "many://c", "few://d"), 70},
		{of("few://b", "none://c"), 3},
	} {
		if got := shard.ReadsOf(stores, c.shards); got != c.want {
			t.Errorf("%v: %d reads, want %d", c.shards, got, c.want)
		}
	}
}
