package saved

import (
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

// SharedManifest returns [ManifestOf] of m, or the saved one if they are equal, so that one is
// held.
func SharedManifest(m *rowgroup.Reader, saved *shuffle.Manifest) *shuffle.Manifest {
	if saved == nil || len(saved.Shards) != len(m.Shards()) || !slices.EqualFunc(saved.Groups, m.Groups(), sameGroup) {
		return ManifestOf(m)
	}
	base, shards := planShards(m.Shards())
	if base != saved.Base || !slices.Equal(shards, saved.Shards) {
		return ManifestOf(m)
	}
	return &shuffle.Manifest{Base: base, Shards: saved.Shards, Groups: saved.Groups}
}

func sameGroup(s shuffle.Group, g rowgroup.Group) bool {
	return s == shuffle.Group{Shard: g.Shard, Index: g.RowGroup, Rows: g.Rows}
}

// ManifestOf is the manifest as package shuffle wants it.
func ManifestOf(m *rowgroup.Reader) *shuffle.Manifest {
	groups := m.Groups()
	p := &shuffle.Manifest{Groups: make([]shuffle.Group, len(groups))}
	p.Base, p.Shards = planShards(m.Shards())
	for i, g := range groups {
		p.Groups[i] = shuffle.Group{Shard: g.Shard, Index: g.RowGroup, Rows: g.Rows}
	}
	return p
}

// planShards are shards as a manifest has them, and what their paths are relative to.
func planShards(shards []shard.Shard) (base string, all []shuffle.Shard) {
	all = make([]shuffle.Shard, len(shards))
	for i, path := range shard.RelativePaths(shards) {
		all[i] = shuffle.Shard{Path: path, Size: shards[i].Size, Version: shards[i].Version}
	}
	if len(shards) > 0 {
		base = strings.TrimSuffix(Addresses(shards[:1])[0], all[0].Path)
	}
	return base, all
}

// Addresses are the shards' URIs in one spelling each. They have no directory in common with a
// scheme that does not exist, and so are whole.
func Addresses(shards []shard.Shard) []string {
	return shard.RelativePaths(append(slices.Clip(shards), shard.Shard{URI: "none://"}))[:len(shards)]
}

// BaseNow returns the directory of a saved manifest's shards: the saved one, unless it has no shard
// and another directory has all.
func BaseNow(byAddress map[string]shard.Shard, listed *shuffle.Manifest) string {
	there := func(s shuffle.Shard) bool { return byAddress[listed.Base+s.Path].URI != "" }
	if len(listed.Shards) == 0 || slices.ContainsFunc(listed.Shards, there) {
		return listed.Base
	}
	for address := range byAddress {
		base, ok := strings.CutSuffix(address, "/"+listed.Shards[0].Path)
		base += "/"
		other := func(s shuffle.Shard) bool { return byAddress[base+s.Path].Size != s.Size }
		if ok && !slices.ContainsFunc(listed.Shards, other) {
			return base
		}
	}
	return listed.Base
}
