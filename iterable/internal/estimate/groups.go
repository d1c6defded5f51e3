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
	Lists               int64 // of Wide: what is made of texts
}

// listPart is how many bytes of int32 are expected of a byte of text. English and code make one;
// more only of languages that a vocabulary hardly knows. Loads ask for the memory of more.
const listPart = 2

func (d *Groups) newGroup(g int) Group {
	m := d.manifest
	one := plainGroup(m, g)
	for _, col := range d.texts {
		text := m.FileBytes(g, col, nil)
		if text == 0 { // the footer does not have it
			text = one.Narrow + one.Wide + one.Scratch.Aside
		}
		one.Lists += listPart * text
	}
	one.Wide += one.Lists
	return one
}

func plainGroup(m *rowgroup.Reader, g int) (d Group) {
	kept := m.KeptBytes(g, m.Groups()[g].Rows)
	d.Narrow, d.Wide, d.Whole = kept.Narrow, kept.Wide, kept.Whole
	d.Scratch = m.Scratch(g)
	_, d.Rule = m.RuleBytes(g)
	return d
}

// Groups keeps the estimates of a table. The groups of a shard are computed when one of them is
// asked for: a rank reads few of the shards.
type Groups struct {
	manifest *rowgroup.Reader
	texts    []int // columns of which lists are made
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

// NewGroups computes nothing yet. Loads make lists of int32 of the texts in some columns.
func NewGroups(m *rowgroup.Reader, texts []int) *Groups {
	return &Groups{manifest: m, texts: texts, shards: make([]atomic.Pointer[shardGroups], len(m.Shards()))}
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
		one := d.newGroup(g)
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
