package iceberg

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

// Open opens a snapshot of a table. The address names the directory of the table or a metadata
// file.
func Open(ctx context.Context, address string, o table.Options) (*table.Snapshot, error) {
	s, err := load(ctx, address, o)
	if err != nil {
		return nil, err
	}
	return s.open(ctx, address, o)
}

func (s *source) open(ctx context.Context, address string, o table.Options) (*table.Snapshot, error) {
	r := &reader{address: address, meta: s.meta, options: o}
	snap, name, err := r.prepare()
	if err != nil {
		return nil, &shard.Error{Op: "table", URI: address, Err: err}
	}
	out := &table.Snapshot{Format: "Iceberg", Table: s.meta.identity(), Name: name, Fields: r.fields, Unreadable: r.unreadable}
	if snap == nil || o.NameOnly {
		s.meta.track(out)
		return out, nil
	}
	out.Time = instant(snap.Time)
	list, err := r.findMove(ctx, s.dir, snap.ManifestList)
	if err != nil {
		return nil, err
	}
	all, err := manifests(list)
	if err != nil {
		return nil, r.wrap(r.locate(snap.ManifestList), err)
	}
	files, err := r.readManifests(ctx, all)
	if err != nil {
		return nil, shard.OfTable(err)
	}
	out.Files, err = r.deleteRows(ctx, files)
	s.meta.track(out)
	return out, shard.OfTable(err)
}

const (
	rowLineage = 3 // the first format version in which rows have IDs
	rowIDField = 2147483540
)

// track adds the column of row IDs.
func (m *metadata) track(s *table.Snapshot) {
	if m.Format >= rowLineage {
		s.TrackRows(rowIDField)
	}
}

// emptyName is the name of a snapshot of a table without snapshots.
const emptyName = "empty"

// prepare chooses the snapshot and its columns.
func (r *reader) prepare() (snap *snapshot, name string, err error) {
	snap, s, err := r.meta.choose(r.options.Snapshot)
	if err != nil {
		return nil, "", err
	}
	if r.names, err = r.meta.mapping(); err != nil {
		return nil, "", err
	}
	if r.fields, r.unreadable, err = columns(s, r.names); err != nil {
		return nil, "", err
	}
	switch {
	case snap == nil:
		return nil, emptyName, nil
	case snap.Key != nil:
		return nil, "", errEncrypted
	case snap.ManifestList == "":
		return nil, "", fmt.Errorf("snapshot %d has no manifest list: version 1 of the format once allowed it, and it cannot be read", snap.ID)
	}
	return snap, strconv.FormatInt(snap.ID, 10), nil
}

// list returns the data files as files of the table, in the order of their addresses, which s.data
// has then too.
func (r *reader) list(s *fileSet) ([]table.File, error) {
	type place struct {
		uri string
		at  int
	}
	places := make([]place, len(s.data))
	for i := range s.data {
		places[i] = place{r.locate(s.data[i].path), i}
	}
	slices.SortFunc(places, func(a, b place) int { return strings.Compare(a.uri, b.uri) })
	data := make([]dataFile, len(places))
	files := make([]table.File, len(places))
	for i, p := range places {
		f := s.data[p.at]
		if i > 0 && p.uri == places[i-1].uri {
			return nil, &shard.Error{Op: "table", URI: r.address, Err: fmt.Errorf("%w: the snapshot has the file %s twice", shard.ErrCorrupt, f.path)}
		}
		data[i] = f
		files[i] = table.File{
			Shard:     shard.Shard{URI: p.uri, Size: f.size},
			Rows:      f.rows,
			FirstRow:  f.first,
			Constants: s.partitions[f.partition].constants,
		}
	}
	s.data = data
	return files, nil
}

// History lists the snapshots of a table, the oldest first.
func History(ctx context.Context, address string, o table.Options) ([]table.Version, error) {
	s, err := load(ctx, address, o)
	if err != nil {
		return nil, err
	}
	return s.meta.history(), nil
}

func (m *metadata) history() []table.Version {
	all := make([]table.Version, 0, len(m.Snapshots))
	for _, s := range m.Snapshots {
		v := table.Version{Name: strconv.FormatInt(s.ID, 10), Time: instant(s.Time), Operation: s.Summary["operation"]}
		for name, r := range m.Refs {
			if r.Snapshot == s.ID {
				v.Refs = append(v.Refs, name)
			}
		}
		if id, ok := m.current(); ok && id == s.ID && !slices.Contains(v.Refs, "main") {
			v.Refs = append(v.Refs, "main")
		}
		slices.Sort(v.Refs)
		all = append(all, v)
	}
	slices.SortStableFunc(all, func(a, b table.Version) int { return time.Time.Compare(a.Time, b.Time) })
	return all
}

// OpenMetadata opens a snapshot of a table whose catalog has its metadata: the content of a file,
// and where that is. Errors name the address of the table.
func OpenMetadata(ctx context.Context, address, file string, content []byte, o table.Options) (*table.Snapshot, error) {
	m, err := parse(content)
	if err != nil {
		return nil, &shard.Error{Op: "table", URI: address, Err: err}
	}
	return (&source{dir: tableOf(table.AddressOf(file)), file: file, meta: m}).open(ctx, address, o)
}

// HistoryOf lists the snapshots of a table whose catalog has its metadata.
func HistoryOf(address string, content []byte) ([]table.Version, error) {
	m, err := parse(content)
	if err != nil {
		return nil, &shard.Error{Op: "table", URI: address, Err: err}
	}
	return m.history(), nil
}
