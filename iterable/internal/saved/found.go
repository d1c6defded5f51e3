package saved

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
	"github.com/shardfeed/shardfeed/table"
)

// found is how the shards of a plan were found, so that a start with the same addresses lists
// nothing.
type found struct {
	Addresses  []string            `json:"addresses"`            // see spellingOf
	Dir        string              `json:"dir,omitempty"`        // the directory of relative paths of shards
	URIs       []string            `json:"uris,omitempty"`       // of the shards, if they are not base + path of the manifest
	Partitions [][]shard.Partition `json:"partitions,omitempty"` // each list once
	Partition  []int32             `json:"partition,omitempty"`  // the list of each shard
	From       []int32             `json:"from,omitempty"`       // the number of its address, where any is not 0
	Instances  []string            `json:"instances,omitempty"`  // of local files; see shard.Shard
	Immutable  bool                `json:"immutable,omitempty"`  // likewise
}

// newFound returns nil if JSON cannot hold it, or a later start could not see that a shard
// changed.
func newFound(addresses []string, shards []shard.Shard, m *shuffle.Manifest) *found {
	f := &found{}
	for _, a := range addresses {
		place, err := spellingOf(a)
		if err != nil || !utf8.ValidString(place) {
			return nil
		}
		f.Addresses = append(f.Addresses, place)
	}
	lists, own := map[string]int32{}, false
	for i, s := range shards {
		list := partitionsKey(s.Partitions)
		if s.VersionHere() == "" || !utf8.ValidString(s.URI) || !utf8.ValidString(list) || !f.within(s.URI) {
			return nil
		}
		n, ok := lists[list]
		if !ok {
			n = int32(len(lists))
			lists[list], f.Partitions = n, append(f.Partitions, s.Partitions)
		}
		f.URIs, f.Partition, f.From = append(f.URIs, s.URI), append(f.Partition, n), append(f.From, s.Source)
		f.Instances = append(f.Instances, s.Instance)
		f.Immutable = f.Immutable || s.Immutable
		own = own || s.URI != m.Base+m.Shards[i].Path
	}
	if !own {
		f.URIs = nil
	}
	f.trim()
	return f
}

// within notes the working directory if a path is relative to it; false if it is unknown.
func (f *found) within(uri string) bool {
	if f.Dir == "" && isRelative(uri) {
		f.Dir, _ = os.Getwd()
		return f.Dir != "" && utf8.ValidString(f.Dir)
	}
	return true
}

func isRelative(uri string) bool {
	scheme, _ := shard.SplitScheme(uri)
	return scheme == "" && !filepath.IsAbs(uri)
}

// partitionsKey is the same text for equal lists.
func partitionsKey(list []shard.Partition) string {
	var key strings.Builder
	for _, p := range list {
		fmt.Fprintf(&key, "%t %d %s=%s\n", p.Null, len(p.Key), p.Key, p.Value)
	}
	return key.String()
}

// trim leaves out what says nothing.
func (f *found) trim() {
	if len(f.Partitions) == 1 && len(f.Partitions[0]) == 0 {
		f.Partitions, f.Partition = nil, nil
	}
	if !slices.ContainsFunc(f.From, func(n int32) bool { return n != 0 }) {
		f.From = nil
	}
	if !slices.ContainsFunc(f.Instances, func(s string) bool { return s != "" }) {
		f.Instances = nil
	}
}

// shards returns the shards that were found.
func (f *found) shards(m *shuffle.Manifest) ([]shard.Shard, error) {
	all := make([]shard.Shard, len(m.Shards))
	for _, n := range []int{len(f.URIs), len(f.Partition), len(f.From), len(f.Instances)} {
		if n != 0 && n != len(all) {
			return nil, errors.New("its list of shards is damaged")
		}
	}
	here, err := os.Getwd()
	if f.Dir != "" && err != nil {
		return nil, err
	}
	for i, s := range m.Shards {
		all[i] = shard.Shard{URI: m.Base + s.Path, Size: s.Size, Version: s.Version, Immutable: f.Immutable}
		if f.URIs != nil {
			all[i].URI = f.URIs[i]
		}
		if f.Dir != "" && f.Dir != here && isRelative(all[i].URI) {
			all[i].URI = filepath.Join(f.Dir, all[i].URI)
		}
		if f.From != nil {
			all[i].Source = f.From[i]
		}
		if f.Instances != nil {
			all[i].Instance = f.Instances[i]
		}
		if f.Partition == nil {
			continue
		}
		if n := f.Partition[i]; n < 0 || int(n) >= len(f.Partitions) {
			return nil, errors.New("its list of partitions is damaged")
		}
		all[i].Partitions = f.Partitions[f.Partition[i]]
	}
	return all, nil
}

// spellingOf spells an address so that two of them that are equal name the same on this machine.
func spellingOf(address string) (string, error) {
	list, isList := strings.CutPrefix(address, "@")
	place, err := absolute(list)
	if trimmed := strings.TrimRight(place, "/"); trimmed != "" {
		place = trimmed
	}
	if isList {
		place = "@" + place
	}
	return place, err
}

// absolute returns an address, with an absolute path if it is one.
func absolute(address string) (string, error) {
	if scheme, _ := shard.SplitScheme(address); scheme != "" {
		return address, nil
	}
	if format, at := table.Cut(address); format != "" {
		at, err := filepath.Abs(at)
		return format + "+" + at, err
	}
	return filepath.Abs(address)
}

// Found returns the shards of the plan if it has these addresses; nil if they must be listed.
func (p *Plan) Found(addresses []string) []shard.Shard {
	if p == nil || p.Shards == nil || len(addresses) != len(p.Addresses) {
		return nil
	}
	for i, a := range addresses {
		if place, err := spellingOf(a); err != nil || place != p.Addresses[i] {
			return nil
		}
	}
	return p.Shards
}
