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
// of the data files that one of them applies to.
func (d *deleter) equality(ctx context.Context) error {
	e := &equal{deleter: d}
	of := map[*deleteFile]*keySet{}
	for i := range d.set.deletes {
		f := &d.set.deletes[i]
		if f.content != contentEquality || !d.applies(f) {
			continue
		}
		set, err := e.setOf(f)
		if err != nil {
			return d.wrap(d.locate(f.path), err)
		}
		of[f] = set
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(d.parallel())
	for f, set := range of {
		group.Go(func() error { return e.readKeys(inner, f, set) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	group, inner = errgroup.WithContext(ctx)
	group.SetLimit(d.parallel())
	for i := range d.files {
		if sets := e.setsFor(&d.set.data[i]); len(sets) > 0 {
			group.Go(func() error { return e.match(inner, i, sets) })
		}
	}
	return group.Wait()
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

// setOf returns the set of an equality delete.
func (e *equal) setOf(f *deleteFile) (*keySet, error) {
	var columns []int
	for _, id := range slices.Sorted(slices.Values(f.keys)) {
		at := slices.IndexFunc(e.columns, func(c keyColumn) bool { return c.id == id })
		if at < 0 {
			c, err := e.keyColumn(id)
			if err != nil {
				return nil, err
			}
			at = len(e.columns)
			e.columns = append(e.columns, c)
		}
		columns = append(columns, at)
	}
	scope := e.scope(f)
	for _, set := range e.sets {
		if set.partition == scope && slices.Equal(set.columns, columns) {
			set.newest = max(set.newest, f.sequence)
			return set, nil
		}
	}
	set := &keySet{partition: scope, columns: columns, newest: f.sequence, keys: map[key]int64{}}
	e.sets = append(e.sets, set)
	return set, nil
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

// match deletes the rows of a data file whose keys are in sets.
func (e *equal) match(ctx context.Context, file int, sets []*keySet) error {
	data := &e.set.data[file]
	var wanted []int // key columns
	for _, set := range sets {
		wanted = append(wanted, set.columns...)
	}
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	fields := make([]table.Field, len(wanted))
	values := make([]*column.Array, len(e.columns))
	lacking := make([][]byte, len(e.columns))
	for i, c := range wanted {
		fields[i] = e.columns[c].field
		b, err := e.columns[c].lacking(&e.set.partitions[data.partition])
		if err != nil {
			return e.wrap(e.locate(data.path), err)
		}
		lacking[c] = b
	}
	rows := int64(0)
	err := e.options.Scan(ctx, e.files[file].Shard, fields, func(first int64, columns []*column.Array) error {
		n := 0
		for i, c := range wanted {
			if values[c] = columns[i]; columns[i] != nil {
				n = columns[i].Len
			}
		}
		rows = first + int64(n)
		return e.matchRows(first, n, values, lacking, sets, data.sequence, &e.files[file].Deleted)
	})
	if err == nil && rows == 0 { // the file lacks all key columns
		rows = data.rows
		err = e.matchRows(0, int(data.rows), make([]*column.Array, len(e.columns)), lacking, sets, data.sequence, &e.files[file].Deleted)
	}
	if err == nil && rows != data.rows {
		err = fmt.Errorf("%w: the file has %d rows, and its manifest says %d", shard.ErrCorrupt, rows, data.rows)
	}
	if err != nil {
		return e.wrap(e.locate(data.path), err)
	}
	return nil
}

func (e *equal) matchRows(first int64, n int, values []*column.Array, lacking [][]byte, sets []*keySet, sequence int64, deleted *table.Rows) error {
	var b []byte
	for _, set := range sets {
		for row := range n {
			b = b[:0]
			for _, c := range set.columns {
				if values[c] == nil {
					b = append(b, lacking[c]...)
					continue
				}
				var err error
				if b, err = e.columns[c].appendRow(b, values[c], row); err != nil {
					return err
				}
			}
			if set.keys[keyOf(b)] > sequence {
				deleted.Add(first+int64(row), first+int64(row)+1)
			}
		}
	}
	return nil
}
