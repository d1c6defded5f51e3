package iceberg

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sort"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

// positionVersion changes when position deletes delete other rows than they did.
const positionVersion = "position/1"

// Columns of position deletes.
var positionFields = []table.Field{
	{ID: 2147483546, Names: []string{"file_path"}},
	{ID: 2147483545, Names: []string{"pos"}},
}

// A reach is the data files that a position delete file can name: all of a partition, or the one at
// a path.
type reach struct {
	partition int32
	path      string // "" is all
}

// A series is the position delete files of a reach, the newest first. To a data file apply the
// first ones, down to its own sequence number.
type series struct {
	files  []*deleteFile
	hashes [][sha256.Size]byte // hashes[n] covers n files, which never change
	needed int                 // the first ones, which have to be read
}

// applying is the number of files that apply to a data file of a sequence number.
func (s *series) applying(sequence int64) int {
	return sort.Search(len(s.files), func(i int) bool { return s.files[i].sequence < sequence })
}

// positions reads the position delete files of which a data file's rows are not kept, each once.
func (d *deleter) positions(ctx context.Context) error {
	all := d.positionSeries()
	unread := d.unreadPositions(all)
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(d.parallel())
	for _, s := range all {
		for _, f := range s.files[:s.needed] {
			group.Go(func() error { return d.positionFile(inner, f) })
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	d.keep(unread)
	return nil
}

// positionSeries returns the position delete files by their reach.
func (d *deleter) positionSeries() map[reach]*series {
	all := map[reach]*series{}
	for i := range d.set.deletes {
		f := &d.set.deletes[i]
		if f.content != contentPositions || f.vector {
			continue
		}
		at := reach{f.partition, f.of}
		if all[at] == nil {
			all[at] = &series{}
		}
		all[at].files = append(all[at].files, f)
	}
	for _, s := range all {
		slices.SortFunc(s.files, func(a, b *deleteFile) int {
			return cmp.Or(cmp.Compare(b.sequence, a.sequence), cmp.Compare(a.path, b.path))
		})
		s.hashes = make([][sha256.Size]byte, 1, len(s.files)+1)
		for n, f := range s.files {
			s.hashes = append(s.hashes, sha256.Sum256(fmt.Appendf(nil, "%s%s\x00%d\x00%d", s.hashes[n], d.locate(f.path), f.size, f.rows)))
		}
	}
	return all
}

// unreadPositions deletes the rows that are kept, and returns the other data files to which position
// deletes apply; the series then have the numbers of files that these need.
func (d *deleter) unreadPositions(all map[reach]*series) (files []unread) {
	for i := range d.set.data {
		data := &d.set.data[i]
		if d.settled[i] {
			continue
		}
		var applying []*series
		name := fmt.Appendf(nil, "%s\x00%s\x00", positionVersion, data.path)
		for _, path := range []string{"", data.path} {
			if s := all[reach{data.partition, path}]; s != nil && s.applying(data.sequence) > 0 {
				applying = append(applying, s)
				name = append(name, s.hashes[s.applying(data.sequence)][:]...)
			}
		}
		if applying == nil {
			continue
		}
		u := unread{i, nameOf(name)}
		if d.settled[i] = d.files[i].DeleteKept(d.options.Keeper, table.ByPosition, u.name); d.settled[i] {
			continue
		}
		files = append(files, u)
		for _, s := range applying {
			s.needed = max(s.needed, s.applying(data.sequence))
		}
	}
	return files
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
	if !ok || d.settled[at] || f.of != "" && f.of != string(path) {
		return -1
	}
	if data := &d.set.data[at]; data.sequence > f.sequence || data.partition != f.partition {
		return -1
	}
	return at
}
