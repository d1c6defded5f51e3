package rowgroup

import "github.com/shardfeed/shardfeed/table"

// Live returns the rows that a table has, whose files are the shards, in their order; nil if it has
// them all. t may be nil.
func (m *Reader) Live(t *table.Snapshot) *table.Live {
	if t == nil {
		return nil
	}
	groups := m.Groups()
	files, rows := make([]int32, len(groups)), make([]int64, len(groups))
	for i, g := range groups {
		files[i], rows[i] = g.Shard, g.Rows
	}
	return table.NewLive(t.Files, files, rows)
}
