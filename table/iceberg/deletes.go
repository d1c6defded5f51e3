package iceberg

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

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

	mu      sync.Mutex // guards the deleted rows of files until equality deletes are applied
	settled []bool     // of files that position delete files add no rows to: these have a deletion vector, or were kept
}

// deleteRows returns the data files with their deleted rows.
func (r *reader) deleteRows(ctx context.Context, set *fileSet) ([]table.File, error) {
	files, err := r.list(set)
	if err != nil || len(set.deletes) == 0 {
		return files, err
	}
	d := &deleter{reader: r, set: set, files: files, index: make(map[string]int32, len(files)), settled: make([]bool, len(files))}
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

// An unread is a data file whose deleted rows are to be read, and their name, see [table.Found].
type unread struct {
	file int
	name [16]byte
}

// nameOf is the name of rows that depend on what b has, besides their file.
func nameOf(b []byte) (name [16]byte) {
	h := sha256.Sum256(b)
	copy(name[:], h[:])
	return name
}

// keep keeps the deleted rows of data files for later openings.
func (d *deleter) keep(all []unread) {
	if d.options.Keeper == nil || len(all) == 0 {
		return
	}
	found := make([]table.Found, len(all))
	for i, u := range all {
		f := &d.files[u.file]
		found[i] = table.Found{Shard: f.Shard, Name: u.name, Rows: f.Deleted}
	}
	d.options.Keeper.Keep(found)
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
