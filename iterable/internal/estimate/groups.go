package estimate

import (
	"sync/atomic"

	"github.com/shardfeed/shardfeed/rowgroup"
)

// A Group has the bytes of a decoded row group: its narrow columns and its wide ones. Whole is the
// part of the narrow ones that cannot be divided.
type Group struct {
	Narrow, Wide, Whole int64
	Scratch             rowgroup.Scratch
	Rule                int64 // the columns of the rule, while the group is decoded
}

func newGroup(m *rowgroup.Reader, g int) (d Group) {
	d.Narrow, d.Wide = m.DecodedBytes(g)
	d.Whole = min(m.WholeBytes(g), d.Narrow)
	d.Scratch = m.Scratch(g)
	_, d.Rule = m.RuleBytes(g)
	return d
}

// Groups keeps the estimates of a table. The groups of a shard are computed when one of them is
// asked for: a rank reads few of the shards.
type Groups struct {
	manifest *rowgroup.Reader
	shards   []atomic.Pointer[shardGroups]
}

// shardGroups keeps the estimates of a shard: one for groups that take the same.
type shardGroups struct {
	distinct []Group
	place    []uint32 // in distinct, by group
}

// sharedGroups is the number of distinct values that groups of a shard can share. What later ones
// take is kept for each.
const sharedGroups = 1 << 12

// NewGroups computes nothing yet.
func NewGroups(m *rowgroup.Reader) *Groups {
	return &Groups{manifest: m, shards: make([]atomic.Pointer[shardGroups], len(m.Shards()))}
}

// Of returns the bytes of group g.
func (d *Groups) Of(g int) Group {
	group := d.manifest.Groups()[g]
	place := &d.shards[group.Shard]
	all := place.Load()
	if all == nil { // maybe computed twice, to the same
		all = d.ofShard(g - int(group.RowGroup))
		place.Store(all)
	}
	return all.distinct[all.place[group.RowGroup]]
}

// ofShard returns the bytes of the groups of a shard, of which first is the first.
func (d *Groups) ofShard(first int) *shardGroups {
	groups, end := d.manifest.Groups(), first
	for end < len(groups) && groups[end].Shard == groups[first].Shard {
		end++
	}
	all := &shardGroups{place: make([]uint32, 0, end-first)}
	seen := map[Group]uint32{}
	for g := first; g < end; g++ {
		one := newGroup(d.manifest, g)
		at, ok := seen[one]
		if !ok {
			at = uint32(len(all.distinct))
			all.distinct = append(all.distinct, one)
			if len(seen) < sharedGroups {
				seen[one] = at
			}
		}
		all.place = append(all.place, at)
	}
	return all
}
