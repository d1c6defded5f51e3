package rule

import (
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/shuffle"
)

// NewRows chooses how to treat the rows of shards that a rows file does not list.
type NewRows string

const (
	RefuseNew NewRows = "error" // the shards are an error that names them (the default)
	KeepNew   NewRows = "keep"  // all rows of them are kept
	DropNew   NewRows = "drop"  // drops them
)

// Validate returns an error unless it is one of the three, or "" for the default.
func (n NewRows) Validate() error {
	p := option.List{New: newError}
	p.OneOf("RowsNew", string(n), string(RefuseNew), string(KeepNew), string(DropNew))
	return p.Err()
}

// KeptRows is which rows of a manifest a row list keeps. It is immutable and safe for concurrent
// use.
type KeptRows struct {
	groups []*bitset // of the manifest; nil of a shard that the list does not know
	rows   []int64   // of the groups
	keep   bool      // the rows of those
	text   string
}

// Match finds the shards of a manifest in the list: by address, or by relative path if no shard is
// at a listed address, since the data may have moved. A listed shard with another size, version or
// number of rows in a group is an error. newRows decides about shards that are not listed, unless
// no row of them can be chosen anyway: excluded marks these, and may be nil. The list may have more
// shards.
func (l *RowList) Match(m *shuffle.Manifest, newRows NewRows, excluded []bool) (*KeptRows, error) {
	if err := newRows.Validate(); err != nil {
		return nil, err
	}
	if newRows == "" {
		newRows = RefuseNew
	}
	in := l.find(m)
	if err := l.checkSame(m, in); err != nil {
		return nil, err
	}
	k := &KeptRows{
		groups: make([]*bitset, len(m.Groups)), rows: make([]int64, len(m.Groups)), keep: newRows == KeepNew,
		text: fmt.Sprintf("rows %s new %s", l.digest, newRows),
	}
	first := firstGroups(l.manifest)
	var unknown []string
	for i, at := range in {
		if at < 0 && (excluded == nil || !excluded[i]) {
			unknown = append(unknown, m.Shards[i].Path)
		}
	}
	if len(unknown) > 0 && newRows == RefuseNew {
		return nil, badRows("does not know %d of %d shards: %s; set {RowsNew} to keep or drop to read their rows or not, or list them too",
			len(unknown), len(m.Shards), listed(unknown))
	}
	for g, group := range m.Groups {
		k.rows[g] = group.Rows
		if at := in[group.Shard]; at >= 0 {
			k.groups[g] = &l.groups[first[at]+int(group.Index)]
		}
	}
	return k, nil
}

// find is the place of each shard of the manifest in the list, -1 when it is not there.
func (l *RowList) find(m *shuffle.Manifest) []int {
	lookUp := func(listBase, base string) (in []int, found bool) {
		at := make(map[string]int, len(l.manifest.Shards))
		for i, s := range l.manifest.Shards {
			at[listBase+s.Path] = i
		}
		in = make([]int, len(m.Shards))
		for i, s := range m.Shards {
			place, ok := at[base+s.Path]
			if found = found || ok; !ok {
				place = -1
			}
			in[i] = place
		}
		return in, found
	}
	if in, found := lookUp(l.manifest.Base, m.Base); found {
		return in
	}
	in, _ := lookUp("", "")
	return in
}

// checkSame refuses shards that changed since they were listed.
func (l *RowList) checkSame(m *shuffle.Manifest, in []int) error {
	then, now := &shuffle.Manifest{}, &shuffle.Manifest{}
	thenFirst, nowFirst := firstGroups(l.manifest), firstGroups(m)
	for i, at := range in {
		if at >= 0 {
			addShard(then, l.manifest, thenFirst, at, m.Shards[i].Path)
			addShard(now, m, nowFirst, i, m.Shards[i].Path)
		}
	}
	differ := then.Differences(now, mostListed)
	if len(differ) == 0 {
		return nil
	}
	return badRows("is of other data: %s; make it again from the shards as they are", strings.Join(differ, ", "))
}

// addShard adds shard i of another manifest, under a path.
func addShard(to, from *shuffle.Manifest, first []int, i int, path string) {
	s := from.Shards[i]
	s.Path = path
	number := int32(len(to.Shards))
	to.Shards = append(to.Shards, s)
	for _, g := range from.Groups[first[i]:first[i+1]] {
		g.Shard = number
		to.Groups = append(to.Groups, g)
	}
}

// firstGroups is the number of each shard's first row group, and one more.
func firstGroups(m *shuffle.Manifest) []int {
	first := make([]int, len(m.Shards)+1)
	for _, g := range m.Groups {
		first[g.Shard+1]++
	}
	for i := range m.Shards {
		first[i+1] += first[i]
	}
	return first
}

// Text is the canonical text: lists of one text keep the same rows of the same data.
func (k *KeptRows) Text() string { return k.text }

// And clears the bits of rows [lo, hi) of a group of the manifest that are not kept; row lo is bit
// 0 of word 0.
func (k *KeptRows) And(group int, lo, hi int64, keep []uint64) {
	switch b := k.groups[group]; {
	case b != nil:
		b.and(k.rows[group], lo, hi, keep)
	case !k.keep:
		clear(keep[:wordsFor(int(hi-lo))])
	}
}

// Count is how many of rows [lo, hi) of a group of the manifest are kept.
func (k *KeptRows) Count(group int, lo, hi int64) int64 {
	switch b := k.groups[group]; {
	case b != nil:
		return b.count(k.rows[group], lo, hi)
	case k.keep:
		return hi - lo
	}
	return 0
}
