package iceberg

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/shard"
)

const tag = "tag" // type of a ref

// choose returns the snapshot that a user names and the schema to read it with: as in Spark, the
// table's for the current snapshot and branches, and the snapshot's own for other names. The
// snapshot is nil for a new table without snapshots.
func (m *metadata) choose(name string) (*snapshot, *schema, error) {
	id, own, found := m.find(name)
	if !found {
		if name == "" || name == "main" {
			s, err := m.schemaOf(nil)
			return nil, s, err
		}
		return nil, nil, m.unknown(name)
	}
	snap := m.snapshot(id)
	if snap == nil {
		return nil, nil, fmt.Errorf("%w: snapshot %d, which the metadata file does not list: it has expired", shard.ErrNotExist, id)
	}
	if !own {
		s, err := m.schemaOf(nil)
		return snap, s, err
	}
	s, err := m.schemaOf(snap.Schema)
	return snap, s, err
}

// find returns the ID of the snapshot that a user names, and whether its own schema counts.
func (m *metadata) find(name string) (id int64, own, found bool) {
	if name == "" {
		id, found = m.current()
		return id, false, found
	}
	if n, err := strconv.ParseInt(name, 10, 64); err == nil && m.snapshot(n) != nil {
		return n, true, true
	}
	if r, ok := m.Refs[name]; ok {
		return r.Snapshot, r.Type == tag, true
	}
	if name == "main" {
		id, found = m.current()
		return id, false, found
	}
	if at, err := time.Parse(time.RFC3339, name); err == nil {
		id, found = m.at(at.UnixMilli())
	}
	return id, true, found
}

// at is the snapshot that was current at a time.
func (m *metadata) at(ms int64) (id int64, found bool) {
	for _, e := range m.Log {
		if e.Time <= ms {
			id, found = e.Snapshot, true
		}
	}
	return id, found
}

func (m *metadata) schemaOf(id *int) (*schema, error) {
	if id == nil {
		id = &m.SchemaID
	}
	if s := m.schema(*id); s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("%w: the metadata file has no schema %d", shard.ErrCorrupt, *id)
}

// unknown lists the names that a user can give.
func (m *metadata) unknown(name string) error {
	if at, err := time.Parse(time.RFC3339, name); err == nil && len(m.Log) > 0 {
		return fmt.Errorf("%w: the table has no snapshot of %s: the first one in its log is of %s", shard.ErrNotExist,
			at.UTC().Format(time.RFC3339), instant(m.Log[0].Time).Format(time.RFC3339))
	}
	var names []string
	for _, n := range slices.Sorted(maps.Keys(m.Refs)) {
		names = append(names, m.Refs[n].Type+" "+n)
	}
	const most = 20
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("%d more", len(names)-most))
	}
	names = append(names, text.Plural(len(m.Snapshots), "snapshot"))
	return fmt.Errorf("%w: the table has no snapshot, tag or branch %q: it has %s", shard.ErrNotExist, name, strings.Join(names, ", "))
}

func instant(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
