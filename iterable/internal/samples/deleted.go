package samples

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/bits"
	"sync"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

// DeletedRows keeps deleted rows of tables with the counts: an entry is a file, and its counts are
// the lengths of rows that stay, of deleted ones, and so on in turn.
type DeletedRows struct {
	Dir      string                  // "" keeps nothing
	Identity func(uri string) string // as in Counting
	Unusable func(err error)         // Dir cannot be used

	once     sync.Once
	segments []*countSegment
}

var _ table.Keeper = (*DeletedRows)(nil)

func (d *DeletedRows) open() *countDir {
	if d.Dir == "" {
		return nil
	}
	dir, err := openCounts(d.Dir)
	if err != nil {
		d.Unusable(err)
		return nil
	}
	return dir
}

// Kept returns the rows that were kept.
func (d *DeletedRows) Kept(s shard.Shard, name [16]byte) (rows table.Rows, ok bool) {
	d.once.Do(func() {
		if dir := d.open(); dir != nil {
			dir.each(func(s *countSegment) { d.segments = append(d.segments, s) })
			_ = dir.Close() // nothing was written through it
		}
	})
	k := d.keyOf(s, name)
	for _, segment := range d.segments {
		segment.find(k, func(e countEntry) {
			if !ok {
				rows, ok = deletedRows(e.counts)
			}
		})
	}
	return rows, ok
}

// deletedRows reads the counts of an entry.
func deletedRows(counts []int64) (rows table.Rows, ok bool) {
	at := int64(0)
	for i, n := range counts {
		if n > math.MaxInt32-at { // of a row in a file
			return table.Rows{}, false
		}
		if i%2 == 1 {
			rows.Add(at, at+n)
		}
		at += n
	}
	return rows, true
}

// mostDeleted is the bytes that Keep may write: no more, since too many remove all counts.
const mostDeleted = maxCountTotal / 2

// Keep writes the rows of the first files that fit into mostDeleted.
func (d *DeletedRows) Keep(found []table.Found) {
	dir := d.open()
	if dir == nil {
		return
	}
	defer func() { _ = dir.Close() }() // writes close their files
	if err := dir.write(d.entries(found, mostDeleted)); err != nil {
		d.Unusable(err)
		return
	}
	if err := dir.tidy(); err != nil {
		d.Unusable(err)
	}
}

// entries are of the first files that fit into some bytes.
func (d *DeletedRows) entries(found []table.Found, left int) (entries []countEntry) {
	for i := range found {
		f := &found[i]
		e := countEntry{countKey: d.keyOf(f.Shard, f.Name)}
		at, size := int64(0), countEntryBytes
		for lo, hi := range f.Rows.Runs() {
			e.counts = append(e.counts, lo-at, hi-lo)
			size += uvarintBytes(lo-at) + uvarintBytes(hi-lo)
			at = hi
		}
		if left -= size; left < 0 {
			break
		}
		entries = append(entries, e)
	}
	return entries
}

func uvarintBytes(n int64) int { return (bits.Len64(uint64(n)|1) + 6) / 7 }

func (d *DeletedRows) keyOf(s shard.Shard, name [16]byte) countKey {
	k := countKey{rule: name}
	id := sha256.Sum256([]byte(d.Identity(s.URI)))
	version := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s", s.Size, s.Version))
	copy(k.shard[:], id[:])
	copy(k.version[:], version[:])
	return k
}
