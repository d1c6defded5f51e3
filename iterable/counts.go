package iterable

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/internal/trusted"
)

// The counts that were kept are segments in the directory of the footers, which any number of
// processes read and write at once, without locks: a segment appears whole, by a rename, and is
// then never changed. What cannot be read is as good as absent, and a lost segment costs counting
// again.
//
// Nodes that count the same data divide the work by claims: an empty file that only one of them
// makes. A claim says that a part is better left to its owner for now, and nothing more: a node that
// finds no part without a claim takes one that has one. So a node that dies, or an old claim, holds
// up no other.

const (
	countSuffix    = ".sfc"
	countTemp      = "tmp-count-" // rowgroup's index removes what has such a name for an hour
	claimTemp      = "tmp-claim-"
	maxCountTotal  = 64 << 20 // bytes of all segments; more are replaced by none
	mostCountFiles = 16
)

// countDir is the directory.
type countDir struct {
	dir  *trusted.Dir
	seen map[string]bool // segments that were read
}

// openCounts opens the directory, which is made when absent.
func openCounts(path string) (*countDir, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	dir, err := trusted.Create(path)
	if err != nil {
		return nil, err
	}
	return &countDir{dir: dir, seen: map[string]bool{}}, nil
}

func (c *countDir) close() { _ = c.dir.Close() } // nothing was written through it

// files lists the segments, the newest first.
func (c *countDir) files() []fs.FileInfo {
	entries, err := c.dir.ReadDir(".")
	if err != nil {
		return nil
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), countSuffix) {
			continue
		}
		if info, err := e.Info(); err == nil { // else another process has merged it away
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	return files
}

// refresh calls found with the segments that were not read yet.
func (c *countDir) refresh(found func(*countSegment)) {
	for _, f := range c.files() {
		if c.seen[f.Name()] {
			continue
		}
		c.seen[f.Name()] = true
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
	f, err := c.dir.OpenFile(info.Name(), os.O_RDONLY)
	if err != nil {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(f, maxCountTotal))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil
	}
	s, err := parseCounts(b)
	if err != nil {
		_ = c.dir.Remove(info.Name())
		return nil
	}
	return s
}

// publish writes a segment.
func (c *countDir) publish(entries []countEntry) error {
	if len(entries) == 0 {
		return nil
	}
	if c.dir.ReadOnly() {
		return nil // it was filled for others to read
	}
	name, err := c.write(formatCounts(entries))
	c.seen[name] = true
	return err
}

// write makes a segment appear whole or not at all.
func (c *countDir) write(b []byte) (name string, err error) {
	id := rand.Text()
	f, err := c.dir.OpenFile(countTemp+id, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.dir.Remove(countTemp+id))
		}
	}()
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	name = fmt.Sprintf("%d-%s%s", time.Now().UnixNano(), id, countSuffix)
	return name, c.dir.Rename(countTemp+id, name)
}

// tidy merges segments when there are many, and drops all when they are too large.
func (c *countDir) tidy() error {
	files := c.files()
	total := int64(0)
	for _, f := range files {
		total += f.Size()
	}
	if c.dir.ReadOnly() || len(files) <= mostCountFiles && total <= maxCountTotal {
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
		if err := c.publish(all); err != nil {
			return err
		}
	}
	for _, f := range files {
		_ = c.dir.Remove(f.Name()) // another process may have been faster
	}
	return nil
}

// claim marks a part as this process's; false when another has. Where no file can be made, all
// parts are.
func (c *countDir) claim(name string) bool {
	f, err := c.dir.OpenFile(claimTemp+name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return !errors.Is(err, fs.ErrExist)
	}
	_ = f.Close()
	return true
}

// unclaim ends a claim.
func (c *countDir) unclaim(name string) { _ = c.dir.Remove(claimTemp + name) }
