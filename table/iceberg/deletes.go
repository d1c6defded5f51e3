package iceberg

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

// A deleter finds the deleted rows of the files of a snapshot.
type deleter struct {
	*reader
	set   *fileSet
	files []table.File     // of set.data, in order
	index map[string]int32 // of set.data, by path

	mu     sync.Mutex // guards the deleted rows of files until equality deletes are applied
	vector []bool     // of files that have a deletion vector, and so no position deletes
}

// deleteRows returns the data files with their deleted rows.
func (r *reader) deleteRows(ctx context.Context, set *fileSet) ([]table.File, error) {
	files, err := r.list(set)
	if err != nil || len(set.deletes) == 0 {
		return files, err
	}
	d := &deleter{reader: r, set: set, files: files, index: make(map[string]int32, len(files)), vector: make([]bool, len(files))}
	for i := range set.data {
		d.index[set.data[i].path] = int32(i)
	}
	if err := d.vectors(ctx); err != nil {
		return nil, err
	}
	if err := d.positions(ctx); err != nil {
		return nil, err
	}
	return files, d.equality(ctx)
}

// Columns of position deletes.
var positionFields = []table.Field{
	{ID: 2147483546, Names: []string{"file_path"}},
	{ID: 2147483545, Names: []string{"pos"}},
}

// positions reads each position delete file once.
func (d *deleter) positions(ctx context.Context) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(d.parallel())
	for i := range d.set.deletes {
		f := &d.set.deletes[i]
		if f.content != contentPositions || f.vector {
			continue
		}
		group.Go(func() error { return d.positionFile(inner, f) })
	}
	return group.Wait()
}

func (d *deleter) positionFile(ctx context.Context, f *deleteFile) error {
	return d.scan(ctx, f, positionFields, func(columns []*column.Array) error {
		paths, err := column.Bytes(columns[0])
		if err != nil {
			return err
		}
		positions, err := column.Values[int64](columns[1])
		if err != nil {
			return err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		last, at := "", int32(-1)
		for row, position := range positions {
			if path := paths.At(row); last == "" || string(path) != last {
				last, at = string(path), d.target(f, path)
			}
			if at < 0 {
				continue
			}
			if position < 0 || position >= d.files[at].Rows {
				return fmt.Errorf("%w: it deletes row %d of %s, which has %d rows", shard.ErrCorrupt, position, last, d.files[at].Rows)
			}
			d.files[at].Delete(table.ByPosition, position, position+1)
		}
		return nil
	})
}

// target returns the data file that a position delete file applies to, or -1.
func (d *deleter) target(f *deleteFile, path []byte) int32 {
	at, ok := d.index[string(path)]
	if !ok || d.vector[at] || f.of != "" && f.of != string(path) {
		return -1
	}
	if data := &d.set.data[at]; data.sequence > f.sequence || data.partition != f.partition {
		return -1
	}
	return at
}

// scan reads all columns of a delete file, and checks its number of rows.
func (d *deleter) scan(ctx context.Context, f *deleteFile, fields []table.Field, each func([]*column.Array) error) error {
	s := shard.Shard{URI: d.locate(f.path), Size: f.size}
	rows := int64(0)
	err := d.options.Scan(ctx, s, fields, func(_ int64, columns []*column.Array) error {
		for i, c := range columns {
			if c == nil {
				return fmt.Errorf("%w: the delete file has no column of field ID %d", shard.ErrCorrupt, fields[i].ID)
			}
		}
		rows += int64(columns[0].Len)
		return each(columns)
	})
	if err == nil && rows != f.rows {
		err = fmt.Errorf("%w: the delete file has %d rows, and its manifest says %d", shard.ErrCorrupt, rows, f.rows)
	}
	if err != nil {
		return d.wrap(s.URI, err)
	}
	return nil
}
