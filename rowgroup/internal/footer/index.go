package footer

import (
	"errors"
	"os"
	"slices"

	"github.com/shardfeed/shardfeed/internal/segmentdir"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

// The index on disk is a directory of segments. A start writes one more with the shards that it did
// not find. Small segments are merged into it, so that their number stays logarithmic; of a shard's
// versions the newest is kept. What cannot be read is as good as absent, and a lost segment costs
// reading footers again.

const (
	segmentSuffix = ".sfi"
	maxIndexTotal = 1 << 30 // bytes; a larger index is replaced by an empty one
	maxSegments   = 16
)

// diskIndex is the segments as they were when it was opened, the newest first.
type diskIndex struct {
	dir      *segmentdir.Dir
	segments []*segment
}

// openIndex maps the segments in a directory, which is made when absent.
func openIndex(path string) (*diskIndex, error) {
	dir, err := segmentdir.Open(path, segmentSuffix)
	if err != nil {
		return nil, err
	}
	files, err := dir.Newest()
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	x := &diskIndex{dir: dir}
	for _, f := range files {
		if s := openSegment(dir, f.Name()); s != nil {
			x.segments = append(x.segments, s)
		}
	}
	return x, nil
}

// openSegment returns nil when the file is damaged, not trusted or gone. A damaged one is removed.
func openSegment(dir *segmentdir.Dir, name string) *segment {
	f, err := dir.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return nil
	}
	b, unmap, err := mapFile(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil
	}
	var s *segment
	err = shard.Guard(func() (err error) {
		s, err = parseSegment(b)
		return err
	})
	if err != nil {
		unmap()
		_ = dir.Remove(name)
		return nil
	}
	s.name, s.unmap = name, unmap
	return s
}

// find looks a shard up and calls found with its entry, which lives only until found returns.
func (x *diskIndex) find(key Key, found func(e indexEntry)) bool {
	for _, s := range x.segments {
		hit := false
		err := shard.Guard(func() error {
			e, ok := s.find(key)
			if ok {
				found(e)
			}
			hit = ok
			return nil
		})
		if err == nil && hit {
			return true
		}
	}
	return false
}

// addToIndex writes a segment with these entries, unless another process has by now, and takes in
// the segments that are small beside it.
func addToIndex(dir string, entries []indexEntry) error {
	x, err := openIndex(dir)
	if err != nil {
		return err
	}
	defer x.close()
	return x.add(slices.DeleteFunc(entries, func(e indexEntry) bool { return x.find(e.key, func(indexEntry) {}) }))
}

// replaceInIndex writes a segment with an entry, which is found before older ones of the shard.
func replaceInIndex(dir string, e indexEntry) error {
	x, err := openIndex(dir)
	if err != nil {
		return err
	}
	defer x.close()
	return x.add([]indexEntry{e})
}

// add writes entries as a segment, which takes in the segments that are small beside it.
func (x *diskIndex) add(entries []indexEntry) error {
	if x.dir.ReadOnly() {
		if len(entries) == 0 {
			return nil // it was filled for others to read
		}
		return errors.New("the directory is read-only")
	}
	merged, old := x.merge(entries)
	if len(entries) == 0 && len(old) == 0 {
		return nil
	}
	if _, err := x.dir.Write(formatSegment(merged)); err != nil {
		return err
	}
	for _, s := range old {
		_ = x.dir.Remove(s.name) // another process may have been faster
	}
	return nil
}

// merge adds the entries of segments to entries, from the smallest segment on: while a segment is
// at most twice as large as the entries so far, and while there are too many segments. When the
// whole would be too large, all old segments go and their entries are lost.
func (x *diskIndex) merge(entries []indexEntry) (merged []indexEntry, old []*segment) {
	total, size := 0, 0
	for _, e := range entries {
		size += len(e.record) + entryBytes
	}
	bySize := slices.Clone(x.segments)
	slices.SortStableFunc(bySize, func(a, b *segment) int { return len(a.b) - len(b.b) })
	for _, s := range bySize {
		total += len(s.b)
	}
	if total+size > maxIndexTotal {
		return entries, x.segments
	}
	for i, s := range bySize {
		if len(s.b) > 2*size && len(bySize)-i <= maxSegments {
			break
		}
		size += len(s.b)
		old = append(old, s)
	}
	return x.newest(entries, old), old
}

// newest merges entries with the entries of some segments, and keeps the newest of each shard.
func (x *diskIndex) newest(entries []indexEntry, old []*segment) []indexEntry {
	seen := make(map[[16]byte]bool, len(entries))
	for _, e := range entries {
		seen[e.key.identity] = true
	}
	schemas := map[schema.ID]schema.Bytes{} // copied out of their mappings, once each
	for _, s := range x.segments {
		if !slices.Contains(old, s) {
			continue
		}
		_ = shard.Guard(func() error { // a fault loses the rest of the segment, no more
			for i := range s.len() {
				e, ok := s.entry(i)
				if !ok || seen[e.key.identity] {
					continue
				}
				e.record = slices.Clone(e.record)
				if _, known := schemas[e.schema.ID]; !known {
					schemas[e.schema.ID] = e.schema.Clone()
				}
				e.schema = schemas[e.schema.ID]
				seen[e.key.identity] = true
				entries = append(entries, e)
			}
			return nil
		})
	}
	return entries
}

func (x *diskIndex) close() {
	for _, s := range x.segments {
		s.unmap()
	}
	x.segments = nil
	_ = x.dir.Close() // nothing was written through it
}
