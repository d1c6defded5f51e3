package shuffle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// savedManifest is the JSON of a manifest.
type savedManifest struct {
	Format   int          `json:"v"`        // 1
	Content  string       `json:"content"`  // Manifest.Content, which a reader checks
	Versions string       `json:"versions"` // Manifest.Versions, likewise
	Base     string       `json:"base"`     //
	Shards   []savedShard `json:"shards"`   // ascending paths
}

type savedShard struct {
	Path    string  `json:"path"`
	Size    int64   `json:"size"`
	Version string  `json:"version"`
	Rows    []int64 `json:"rows"` // of each row group
}

// JSON encodes the manifest, so that a run can finish its epoch with the list of shards it started
// with. Texts that are not UTF-8 cannot be saved.
func (m *Manifest) JSON() ([]byte, error) {
	s := savedManifest{Format: 1, Content: m.Content(), Versions: m.Versions(), Base: m.Base, Shards: make([]savedShard, len(m.Shards))}
	for i, sh := range m.Shards {
		if !utf8.ValidString(sh.Path) || !utf8.ValidString(sh.Version) {
			return nil, refuse("manifest", "path %q or version %q is not UTF-8", sh.Path, sh.Version)
		}
		s.Shards[i] = savedShard{Path: sh.Path, Size: sh.Size, Version: sh.Version, Rows: []int64{}}
	}
	for _, g := range m.Groups {
		s.Shards[g.Shard].Rows = append(s.Shards[g.Shard].Rows, g.Rows)
	}
	return json.Marshal(s)
}

// ParseManifest reads a saved manifest and checks it against its own hashes.
func ParseManifest(data []byte) (*Manifest, error) {
	var s savedManifest
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, refuse("manifest", "%v", err)
	}
	if s.Format != 1 {
		return nil, refuse("manifest", "it has version %d, and only version 1 is known", s.Format)
	}
	groups := 0
	for i := range s.Shards {
		groups += len(s.Shards[i].Rows)
	}
	m := &Manifest{Base: s.Base, Shards: make([]Shard, len(s.Shards)), Groups: make([]Group, 0, groups)}
	for i, sh := range s.Shards {
		m.Shards[i] = Shard{Path: sh.Path, Size: sh.Size, Version: sh.Version}
		for g, rows := range sh.Rows {
			m.Groups = append(m.Groups, Group{Shard: int32(i), Index: int32(g), Rows: rows})
		}
	}
	if err := m.Validate(); err != nil {
		return nil, err
	}
	if m.Content() != s.Content || m.Versions() != s.Versions {
		return nil, refuse("manifest", "its shards do not make the hashes that it states; was it edited or cut short?")
	}
	return m, nil
}

// Differences describes the changes from m's shards to now's, at most most of them and then a count
// of the rest.
func (m *Manifest) Differences(now *Manifest, most int) []string {
	var out []string
	a, b := m.groupRows(), now.groupRows()
	before, after := prefixes(m, now)
	i, j := 0, 0
	for i < len(m.Shards) || j < len(now.Shards) {
		was, is := "", ""
		if i < len(m.Shards) {
			was = before + m.Shards[i].Path
		}
		if j < len(now.Shards) {
			is = after + now.Shards[j].Path
		}
		switch {
		case j == len(now.Shards) || i < len(m.Shards) && was < is:
			out = append(out, "removed "+was)
			i++
		case i == len(m.Shards) || was > is:
			out = append(out, "added "+is)
			j++
		default:
			if s := changed(m.Shards[i], now.Shards[j], a[i], b[j]); s != "" {
				out = append(out, "changed "+was+": "+s)
			}
			i++
			j++
		}
	}
	if rest := len(out) - most; rest > 0 {
		out = append(out[:most], fmt.Sprintf("and %d more", rest))
	}
	return out
}

// prefixes returns the prefixes that make the paths of two manifests relative to one directory.
// Both are empty if the data has moved as a whole.
func prefixes(m, now *Manifest) (before, after string) {
	n := 0
	for n < len(m.Base) && n < len(now.Base) && m.Base[n] == now.Base[n] {
		n++
	}
	dir := strings.LastIndexByte(m.Base[:n], '/') + 1
	before, after = m.Base[dir:], now.Base[dir:]
	if before == "" || after == "" {
		return before, after
	}
	paths := map[string]bool{}
	for _, s := range m.Shards {
		paths[s.Path] = true
	}
	if slices.ContainsFunc(now.Shards, func(s Shard) bool { return paths[s.Path] }) {
		return "", ""
	}
	return before, after
}

func changed(a, b Shard, was, is []Group) string {
	sameRows := slices.EqualFunc(was, is, func(x, y Group) bool { return x.Rows == y.Rows })
	switch {
	case a.Size != b.Size:
		return fmt.Sprintf("%d bytes, now %d", a.Size, b.Size)
	case len(was) != len(is):
		return fmt.Sprintf("%d row groups, now %d", len(was), len(is))
	case !sameRows:
		return "other rows per row group"
	case a.Version != b.Version:
		return fmt.Sprintf("version %s, now %s", a.Version, b.Version)
	}
	return ""
}

// groupRows are the groups of each shard.
func (m *Manifest) groupRows() [][]Group {
	out := make([][]Group, len(m.Shards))
	first := 0
	for i := range m.Groups {
		if next := i + 1; next == len(m.Groups) || m.Groups[next].Shard != m.Groups[i].Shard {
			out[m.Groups[i].Shard] = m.Groups[first:next]
			first = next
		}
	}
	return out
}
