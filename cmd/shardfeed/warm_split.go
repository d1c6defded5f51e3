package main

import (
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
)

// A warmShard is the parts of a shard that warm fetches.
type warmShard struct {
	shard.Shard
	groups int
	spans  []shard.Span // in order
	bytes  int64        // of the spans
}

// warmShards is what a rank has to warm: its part of the row groups of which rows are kept, those of
// a shard together.
func warmShards(m *rowgroup.Manifest, kept []bool, rank, worldSize int) []warmShard {
	groups := m.Groups()
	bytes := make([]int64, len(groups))
	for g := range groups {
		if !kept[g] {
			continue
		}
		for _, s := range m.Spans(g) {
			bytes[g] += s.N
		}
	}
	first, end := splitBytes(bytes, rank, worldSize)
	var all []warmShard
	last := int32(-1)
	for g := first; g < end; g++ {
		if !kept[g] {
			continue
		}
		if groups[g].Shard != last {
			last = groups[g].Shard
			all = append(all, warmShard{Shard: m.Shards()[last]})
		}
		w := &all[len(all)-1]
		w.groups++
		w.spans = append(w.spans, m.Spans(g)...)
		w.bytes += bytes[g]
	}
	return all
}

// splitBytes is the part of rank: what worldSize ranks get is contiguous, disjoint, all of it, and
// of equal bytes up to one item. An item belongs to the rank in whose equal part of the bytes its
// middle lies.
func splitBytes(bytes []int64, rank, worldSize int) (first, end int) {
	var total, before int64
	for _, n := range bytes {
		total += n
	}
	if total == 0 { // nothing to weigh
		return len(bytes) * rank / worldSize, len(bytes) * (rank + 1) / worldSize
	}
	owner := func(middle int64) int {
		return min(worldSize-1, int(float64(middle)/float64(total)*float64(worldSize)))
	}
	first = len(bytes)
	end = len(bytes)
	for i, n := range bytes {
		o := owner(before + n/2)
		before += n
		if o >= rank && first == len(bytes) {
			first = i
		}
		if o > rank {
			return min(first, i), i
		}
	}
	return first, end
}
