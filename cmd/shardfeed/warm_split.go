package main

import (
	"cmp"
	"slices"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
)

// A warmShard is the parts of a shard that warm fetches.
type warmShard struct {
	shard.Shard
	rowGroups map[int32]bool
	spans     []shard.Span // in order
	bytes     int64        // of the spans
	missing   int64        // of them, before warm fetches
}

// A warmGroup is a row group of one of several manifests.
type warmGroup struct {
	manifest *rowgroup.Reader
	group    int
	spans    []shard.Span
}

// rowGroup is its number in the shard.
func (g warmGroup) rowGroup() int32 { return g.manifest.Groups()[g.group].RowGroup }

// warmShards returns a rank's part of the kept row groups to warm, by shard. kept has a list for
// each manifest.
func warmShards(manifests []*rowgroup.Reader, kept [][]bool, rank, worldSize int) []*warmShard {
	var groups []warmGroup
	var bytes []int64
	for i, m := range manifests {
		for g := range m.Groups() {
			w := warmGroup{manifest: m, group: g}
			if kept[i][g] {
				w.spans = m.Spans(g)
			}
			groups, bytes = append(groups, w), append(bytes, spansBytes(w.spans))
		}
	}
	first, end := splitBytes(bytes, rank, worldSize)
	var all []*warmShard
	seen := map[string]*warmShard{} // a shard may be in several manifests
	for _, g := range groups[first:end] {
		if g.spans == nil {
			continue
		}
		s := g.manifest.Shards()[g.manifest.Groups()[g.group].Shard]
		w := seen[s.URI]
		if w == nil {
			w = &warmShard{Shard: s, rowGroups: map[int32]bool{}}
			seen[s.URI], all = w, append(all, w)
		}
		w.add(g)
	}
	for _, w := range all {
		w.bytes = spansBytes(w.spans)
	}
	return all
}

// laneShards returns the rows that streams read, by shard. rows has a list for each manifest, in
// file order.
func laneShards(manifests []*rowgroup.Reader, rows [][]rowgroup.Rows) (all []*warmShard, err error) {
	seen := map[string]*warmShard{} // a shard may be in several manifests
	for i, m := range manifests {
		for rest := rows[i]; len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n].Shard == rest[0].Shard {
				n++
			}
			s := m.Shards()[rest[0].Shard]
			w := seen[s.URI]
			if w == nil {
				w = &warmShard{Shard: s, rowGroups: map[int32]bool{}}
				seen[s.URI], all = w, append(all, w)
			}
			spans, err := m.SpansOf(rest[:n])
			if err != nil {
				return nil, err
			}
			for _, r := range rest[:n] {
				w.rowGroups[int32(r.RowGroup)] = true
			}
			w.spans, rest = unitedSpans(append(w.spans, spans...)), rest[n:]
		}
	}
	for _, w := range all {
		w.bytes = spansBytes(w.spans)
	}
	return all, nil
}

// add adds the spans of a row group, each byte once.
func (w *warmShard) add(g warmGroup) {
	w.spans = append(w.spans, g.spans...)
	if w.rowGroups[g.rowGroup()] {
		w.spans = unitedSpans(w.spans)
	}
	w.rowGroups[g.rowGroup()] = true
}

func spansBytes(spans []shard.Span) (n int64) {
	for _, s := range spans {
		n += s.N
	}
	return n
}

// unitedSpans are the bytes of spans, each once, in order.
func unitedSpans(spans []shard.Span) (all []shard.Span) {
	slices.SortFunc(spans, func(a, b shard.Span) int { return cmp.Compare(a.Off, b.Off) })
	for _, s := range spans {
		if last := len(all) - 1; last >= 0 && s.Off <= all[last].Off+all[last].N {
			all[last].N = max(all[last].N, s.Off+s.N-all[last].Off)
			continue
		}
		all = append(all, s)
	}
	return all
}

// splitBytes returns the part of a rank: the parts are contiguous, disjoint, complete, and of equal
// bytes up to one item. An item belongs to the rank whose equal part of the bytes contains its
// middle.
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
