package iterable

import (
	"sync/atomic"

	"github.com/shardfeed/shardfeed/rowgroup"
)

// decoded has the bytes of a decoded group: its narrow columns and its wide ones. whole is
// what of the narrow ones cannot be divided.
type decoded struct {
	narrow, wide, whole int64
	scratch             rowgroup.Scratch
	rule                int64 // the columns of the rule, while the group is decoded
}

func newDecoded(m *rowgroup.Reader, g int) (d decoded) {
	d.narrow, d.wide = m.DecodedBytes(g)
	d.whole = min(m.WholeBytes(g), d.narrow)
	d.scratch = m.Scratch(g)
	_, d.rule = m.RuleBytes(g)
	return d
}

// decodedGroups keeps what groups take. The groups of a shard are computed when one of them is
// asked for: a rank reads few of the shards.
type decodedGroups struct {
	manifest *rowgroup.Reader
	shards   []atomic.Pointer[decodedShard]
}

// decodedShard keeps what the groups of a shard take: once where many take the same.
type decodedShard struct {
	distinct []decoded
	place    []uint32 // in distinct, by group
}

// sharedGroups is the number of distinct values that groups of a shard can share. What later ones
// take is kept for each.
const sharedGroups = 1 << 12

func newDecodedGroups(m *rowgroup.Reader) *decodedGroups {
	return &decodedGroups{manifest: m, shards: make([]atomic.Pointer[decodedShard], len(m.Shards()))}
}

// of returns the bytes of group g.
func (d *decodedGroups) of(g int) decoded {
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
func (d *decodedGroups) ofShard(first int) *decodedShard {
	groups, end := d.manifest.Groups(), first
	for end < len(groups) && groups[end].Shard == groups[first].Shard {
		end++
	}
	all := &decodedShard{place: make([]uint32, 0, end-first)}
	seen := map[decoded]uint32{}
	for g := first; g < end; g++ {
		one := newDecoded(d.manifest, g)
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
