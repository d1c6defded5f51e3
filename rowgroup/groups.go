package rowgroup

import (
	"cmp"

	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
)

// A Group is one row group.
type Group struct {
	Shard, RowGroup int32 // position of the shard in the manifest, and of the row group in the shard
	Rows            int64
	First           int64 // number of its first row in the manifest
	Bytes           int64 // uncompressed, of all columns, projected or not
	Compressed      int64 // encoded bytes of the projected columns and rule columns
}

// wantsMost reports whether the projection has half of a shard's bytes or more.
func (m *Manifest) wantsMost(s int) bool {
	left := m.shards[s].Size / 2
	for _, g := range m.groups[m.first[s]:m.first[s+1]] {
		left -= g.Compressed
	}
	return left <= 0
}

func addGroups(m *Manifest, all []footer.Loaded) error {
	n := 0
	for i := range all { // parsed twice: records are large beside their groups
		r, err := footer.ParseRecord(all[i].Record)
		if err != nil {
			return footer.ShardError(m.shards[i], err)
		}
		n += r.Groups
	}
	m.groups = make([]Group, 0, n)
	m.first = make([]int, 0, len(all)+1)
	for i := range all {
		m.first = append(m.first, len(m.groups))
		r, err := footer.ParseRecord(all[i].Record)
		if err != nil {
			return footer.ShardError(m.shards[i], err)
		}
		for g := range r.Groups {
			group, err := newGroup(m, &r, i, g)
			if err != nil {
				return err
			}
			m.groups = append(m.groups, group)
		}
	}
	m.first = append(m.first, len(m.groups))
	return nil
}

// newGroup adds up a row group; it refuses a projected chunk that no decoder reads.
func newGroup(m *Manifest, r *footer.Record, s, g int) (Group, error) {
	group := Group{Shard: int32(s), RowGroup: int32(g), Rows: r.Rows.At(g), First: m.firstRow + m.rows, Bytes: r.Bytes.At(g)}
	for _, n := range m.bound[m.files[s].schema].fetched {
		k := r.Chunk(n.Leaf.Index, g)
		group.Compressed += r.Compressed.At(k)
		if err := cmp.Or(n.Leaf.Readable(), r.Readable(k)); err != nil {
			return group, &Error{
				Op: "footer", URI: m.shards[s].URI, RowGroup: g, Column: n.Leaf.Path, Page: -1,
				Err: err, Hint: "leave the column out, or write it in another way",
			}
		}
	}
	m.rows += group.Rows
	return group, nil
}
