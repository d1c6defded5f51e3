package samples

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/shardfeed/shardfeed/internal/segmentdir"
)

// The counts that were kept are segments in the directory of the footers. What cannot be read is as
// good as absent, and a lost segment costs counting again.

const (
	countSuffix    = ".sfc"
	maxCountTotal  = 64 << 20 // bytes of all segments; more are removed
	mostCountFiles = 16
)

// countDir is the directory.
type countDir struct{ *segmentdir.Dir }

// openCounts opens the directory, which is made when absent.
func openCounts(path string) (*countDir, error) {
	dir, err := segmentdir.Open(path, countSuffix)
	if err != nil {
		return nil, err
	}
	return &countDir{dir}, nil
}

// each calls found with each segment, the newest first.
func (c *countDir) each(found func(*countSegment)) {
	files, _ := c.Newest()
	for _, f := range files {
		if s := c.read(f); s != nil {
			found(s)
		}
	}
}

// read returns nil when the file is damaged, not trusted or gone. A damaged one is removed.
func (c *countDir) read(info fs.FileInfo) *countSegment {
	if info.Size() > maxCountTotal {
		return nil
	}
	f, err := c.OpenFile(info.Name(), os.O_RDONLY)
	if err != nil {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(f, maxCountTotal))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil
	}
	s, err := parseCounts(b)
	if err != nil {
		_ = c.Remove(info.Name())
		return nil
	}
	return s
}

// write adds a segment.
func (c *countDir) write(entries []countEntry) error {
	if len(entries) == 0 {
		return nil
	}
	if c.ReadOnly() {
		return nil // it was filled for others to read
	}
	_, err := c.Write(formatCounts(entries))
	return err
}

// tidy merges segments when there are many, and drops all when they are too large.
func (c *countDir) tidy() error {
	files, _ := c.Newest()
	total := int64(0)
	for _, f := range files {
		total += f.Size()
	}
	if c.ReadOnly() || len(files) <= mostCountFiles && total <= maxCountTotal {
		return nil
	}
	if total <= maxCountTotal {
		var all []countEntry
		type place struct {
			shard, rule [16]byte
			first       int
		}
		have := map[place]bool{}
		for _, f := range files { // the newest first
			s := c.read(f)
			for i := 0; s != nil && i < s.len(); i++ {
				e, ok := s.entry(i)
				if at := (place{e.shard, e.rule, e.first}); ok && !have[at] {
					have[at] = true
					all = append(all, e)
				}
			}
		}
		if err := c.write(all); err != nil {
			return err
		}
	}
	for _, f := range files {
		_ = c.Remove(f.Name()) // another process may have been faster
	}
	return nil
}
