package iceberg

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

// anywhere is the partition of equality deletes that apply to all files.
const anywhere = -1

// maxKeys is how many keys of equality deletes fit into 1 GiB.
const maxKeys = 20_000_000

// A keySet is the keys that some equality deletes have in common: of the same columns, in the same
// partition. A key has the highest sequence number of the deletes that have it, since it deletes
// rows of all files below that.
type keySet struct {
	partition int32
	columns   []int // of the deletes' key columns
	newest    int64 // sequence number
	deletes   []*deleteFile

	mu   sync.Mutex
	keys map[key]int64
}

// equal is the equality deletes of a snapshot.
type equal struct {
	*deleter
	columns []keyColumn
	sets    []*keySet
	keys    atomic.Int64
}

// equality finds the rows that equality deletes delete: it reads their keys, then the key columns
// of the data files that one of them applies to. It does not read for files whose deleted rows an
// earlier opening kept.
func (d *deleter) equality(ctx context.Context) error {
	e := &equal{deleter: d}
	for i := range d.set.deletes {
		f := &d.set.deletes[i]
		if f.content != contentEquality || !d.applies(f) {
			continue
		}
		if err := e.add(f); err != nil {
			return d.wrap(d.locate(f.path), err)
		}
	}
	all, err := e.matches()
	if err != nil {
		return err
	}
	all = e.unknown(all)
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(d.parallel())
	for _, set := range neededSets(all) {
		for _, f := range set.deletes {
			group.Go(func() error { return e.readKeys(inner, f, set) })
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	group, inner = errgroup.WithContext(ctx)
	group.SetLimit(d.parallel())
	for i := range all {
		group.Go(func() error { return e.match(inner, &all[i]) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	e.apply(all)
	return nil
}

// scope is the partition that an equality delete applies to.
func (d *deleter) scope(f *deleteFile) int32 {
	if d.set.partitions[f.partition].spec.unpartitioned() {
		return anywhere
	}
	return f.partition
}

// applies reports whether there is a data file that an equality delete applies to.
func (d *deleter) applies(f *deleteFile) bool {
	scope := d.scope(f)
	return slices.ContainsFunc(d.set.data, func(data dataFile) bool {
		return data.sequence < f.sequence && (scope == anywhere || scope == data.partition)
	})
}

// add adds an equality delete to its set.
func (e *equal) add(f *deleteFile) error {
	var columns []int
	for _, id := range slices.Sorted(slices.Values(f.keys)) {
		at := slices.IndexFunc(e.columns, func(c keyColumn) bool { return c.id == id })
		if at < 0 {
			c, err := e.keyColumn(id)
			if err != nil {
				return err
			}
			at = len(e.columns)
			e.columns = append(e.columns, c)
		}
		columns = append(columns, at)
	}
	scope := e.scope(f)
	at := slices.IndexFunc(e.sets, func(s *keySet) bool { return s.partition == scope && slices.Equal(s.columns, columns) })
	if at < 0 {
		at = len(e.sets)
		e.sets = append(e.sets, &keySet{partition: scope, columns: columns, keys: map[key]int64{}})
	}
	set := e.sets[at]
	set.newest = max(set.newest, f.sequence)
	set.deletes = append(set.deletes, f)
	return nil
}

// readKeys adds the keys of an equality delete to its set.
func (e *equal) readKeys(ctx context.Context, f *deleteFile, set *keySet) error {
	if e.keys.Add(f.rows) > maxKeys {
		return &shard.Error{
			Op: "table", URI: e.address,
			Err:  fmt.Errorf("the snapshot has equality deletes of more than %s keys, which do not fit into 1 GiB", text.Count(maxKeys)),
			Hint: "compact the table, as with Spark's rewrite_data_files",
		}
	}
	fields := make([]table.Field, len(set.columns))
	for i, c := range set.columns {
		fields[i] = e.columns[c].field
	}
	var b []byte
	return e.scan(ctx, f, fields, func(columns []*column.Array) error {
		set.mu.Lock()
		defer set.mu.Unlock()
		for row := range columns[0].Len {
			b = b[:0]
			for i, c := range set.columns {
				var err error
				if b, err = e.columns[c].appendRow(b, columns[i], row); err != nil {
					return err
				}
			}
			k := keyOf(b)
			set.keys[k] = max(set.keys[k], f.sequence)
		}
		return nil
	})
}

// setsFor returns the sets that may delete rows of a data file.
func (e *equal) setsFor(f *dataFile) (sets []*keySet) {
	for _, set := range e.sets {
		if set.newest > f.sequence && (set.partition == anywhere || set.partition == f.partition) {
			sets = append(sets, set)
		}
	}
	return sets
}

// match finds the rows of a data file whose keys are in its sets.
func (e *equal) match(ctx context.Context, m *match) error {
	data := &e.set.data[m.file]
	fields := make([]table.Field, len(m.columns))
	values := make([]*column.Array, len(e.columns))
	for i, c := range m.columns {
		fields[i] = e.columns[c].field
	}
	rows := int64(0)
	err := e.options.Scan(ctx, e.files[m.file].Shard, fields, func(first int64, columns []*column.Array) error {
		n := 0
		for i, c := range m.columns {
			if values[c] = columns[i]; columns[i] != nil {
				n = columns[i].Len
			}
		}
		rows = first + int64(n)
		return e.matchRows(first, n, values, m)
	})
	if err == nil && rows == 0 { // the file lacks all key columns
		rows = data.rows
		err = e.matchRows(0, int(data.rows), make([]*column.Array, len(e.columns)), m)
	}
	if err == nil && rows != data.rows {
		err = fmt.Errorf("%w: the file has %d rows, and its manifest says %d", shard.ErrCorrupt, rows, data.rows)
	}
	if err != nil {
		return e.wrap(e.locate(data.path), err)
	}
	return nil
}

func (e *equal) matchRows(first int64, n int, values []*column.Array, m *match) error {
	sequence := e.set.data[m.file].sequence
	var b []byte
	for _, set := range m.sets {
		for row := range n {
			b = b[:0]
			for _, c := range set.columns {
				if values[c] == nil {
					b = append(b, m.lacking[c]...)
					continue
				}
				var err error
				if b, err = e.columns[c].appendRow(b, values[c], row); err != nil {
					return err
				}
			}
			if set.keys[keyOf(b)] > sequence {
				m.rows.Add(first+int64(row), first+int64(row)+1)
			}
		}
	}
	return nil
}
