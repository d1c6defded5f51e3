package iterable

import (
	"sync/atomic"

	"github.com/shardfeed/shardfeed/rowgroup"
)

// decoded is what a group takes in memory, in bytes: its narrow columns and its wide ones. whole is
// what of the narrow ones cannot be divided.
type decoded struct {
	narrow, wide, whole int64
	scratch             rowgroup.Scratch
	rule                int64 // the columns of the rule, while the group is decoded
}

func newDecoded(m *rowgroup.Manifest, g int) (d decoded) {
	d.narrow, d.wide = m.DecodedBytes(g)
	d.whole = min(m.WholeBytes(g), d.narrow)
	d.scratch = m.Scratch(g)
	_, d.rule = m.RuleBytes(g)
	return d
}

// decodedGroups keeps what groups take. The groups of a shard are computed when one of them is
// asked for: a rank reads few of the shards.
type decodedGroups struct {
	manifest *rowgroup.Manifest
	shards   []atomic.Pointer[[]decoded]
}

func newDecodedGroups(m *rowgroup.Manifest) *decodedGroups {
	return &decodedGroups{manifest: m, shards: make([]atomic.Pointer[[]decoded], len(m.Shards()))}
}

// of is what group g takes.
func (d *decodedGroups) of(g int) decoded {
	group := d.manifest.Groups()[g]
	place := &d.shards[group.Shard]
	all := place.Load()
	if all == nil { // maybe computed twice, to the same
		all = d.ofShard(g - int(group.RowGroup))
		place.Store(all)
	}
	return (*all)[group.RowGroup]
}

// ofShard is what the groups of a shard take, of which first is the first.
func (d *decodedGroups) ofShard(first int) *[]decoded {
	groups := d.manifest.Groups()
	all := []decoded{}
	for g := first; g < len(groups) && groups[g].Shard == groups[first].Shard; g++ {
		all = append(all, newDecoded(d.manifest, g))
	}
	return &all
}
