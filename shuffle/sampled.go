package shuffle

import "strings"

// Sampled reports which shards an order of the units depends on, or returns nil if it depends on
// all. Shards without samples can be added and removed while a run is interrupted. Under a rule
// that is [Manifest.Numbered], shards with rows before the last samples count too: they number the
// rows after them.
func (m *Manifest) Sampled(units Units) []bool {
	rows, samples := make([]int64, len(m.Shards)), make([]int64, len(m.Shards))
	for _, g := range m.Groups {
		rows[g.Shard] += g.Rows
	}
	if units.list == nil {
		samples = rows
	}
	for _, u := range units.list {
		samples[m.Groups[u.Group].Shard] += u.Samples
	}
	sampled, all, after := make([]bool, len(m.Shards)), true, false
	for s := len(m.Shards) - 1; s >= 0; s-- {
		sampled[s] = samples[s] > 0 || m.Numbered && after && rows[s] > 0
		all, after = all && sampled[s], after || sampled[s]
	}
	if all {
		return nil
	}
	return sampled
}

// Only returns the manifest of the shards that Sampled reports. Their paths are relative to the
// deepest directory that holds them all.
func (m *Manifest) Only(sampled []bool) *Manifest {
	if sampled == nil {
		return m
	}
	part := &Manifest{Rule: m.Rule, EachRow: m.EachRow, Numbered: m.Numbered, Snapshot: m.Snapshot, Now: m.Now}
	number := make([]int32, len(m.Shards))
	for i, s := range m.Shards {
		if sampled[i] {
			number[i] = int32(len(part.Shards))
			part.Shards = append(part.Shards, s)
		}
	}
	for _, g := range m.Groups {
		if sampled[g.Shard] {
			part.Groups = append(part.Groups, Group{Shard: number[g.Shard], Index: g.Index, Rows: g.Rows})
		}
	}
	dir := commonDir(part.Shards)
	for i := range part.Shards {
		part.Shards[i].Path = part.Shards[i].Path[len(dir):]
	}
	part.Base = m.Base + dir
	return part
}

// commonDir is the deepest directory of all shards, with its slash.
func commonDir(shards []Shard) string {
	if len(shards) == 0 {
		return ""
	}
	dir := shards[0].Path[:strings.LastIndexByte(shards[0].Path, '/')+1]
	for _, s := range shards[1:] {
		for !strings.HasPrefix(s.Path, dir) {
			dir = dir[:strings.LastIndexByte(dir[:len(dir)-1], '/')+1]
		}
	}
	return dir
}

// indexSampled lists the sampled shards, and counts the groups of others before each shard.
func indexSampled(m *Manifest, sampled []bool) (shards, skipped []uint32) {
	for s := range m.Shards {
		if sampled == nil || sampled[s] {
			shards = append(shards, uint32(s))
		}
	}
	if sampled == nil {
		return shards, nil
	}
	groups := make([]uint32, len(m.Shards)) // of shards that are not sampled
	for _, g := range m.Groups {
		if !sampled[g.Shard] {
			groups[g.Shard]++
		}
	}
	skipped = make([]uint32, len(m.Shards))
	for s := 1; s < len(skipped); s++ {
		skipped[s] = skipped[s-1] + groups[s-1]
	}
	return shards, skipped
}

// groupID numbers the groups of sampled shards, which random numbers depend on.
func (p *Plan) groupID(group int) uint64 {
	if p.skipped == nil {
		return uint64(group)
	}
	return uint64(group) - uint64(p.skipped[p.manifest.Groups[group].Shard])
}
