package cache

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/shardfeed/shardfeed/internal/crc"
	"github.com/shardfeed/shardfeed/internal/trusted"
	"github.com/shardfeed/shardfeed/shard"
)

// Trim frees unwanted bytes of r's shards until n bytes are free, as far as the policy allows. A
// file in use stays as it is. On file systems that cannot make holes it removes the whole file.
func (c *Cache) Trim(r RoomFor, n int64) (freed int64, err error) {
	c.files.closeIdle(0) // an open file is in use
	for _, w := range r.spare {
		if freed >= n {
			break
		}
		bytes, err := c.trim(w)
		freed += bytes
		if err != nil {
			return freed, err
		}
	}
	return freed, nil
}

// trim frees unwanted bytes of a file. It locks the file exclusively, so that no process reads it
// meanwhile. It cuts the table before it makes holes: if the process is killed in between it leaves
// bytes without an entry.
func (c *Cache) trim(w wantedFile) (freed int64, err error) {
	c.evicting.Lock()
	defer c.evicting.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), lockWithin)
	defer cancel()
	if err := lockDir(ctx, c.evictLock); err != nil {
		return 0, err
	}
	defer func() { _ = disown(c.evictLock) }()
	x, err := c.ownFile(w.key)
	if x == nil || err != nil {
		return 0, err
	}
	defer x.close()
	before, err := x.onDisk()
	if err != nil {
		return 0, err
	}
	kept, err := x.keepOnly(hulls(w.spans))
	if err != nil {
		return 0, err
	}
	var after int64
	if x.punch(kept, int64(c.unit)) == nil {
		after, err = x.onDisk()
	} else {
		err = c.root.Remove(w.name)
	}
	if err != nil {
		return 0, err
	}
	return before - after, c.usage.removed(room{bytes: before - after})
}

// onDisk returns the bytes that the file takes on the disk.
func (x *file) onDisk() (int64, error) {
	info, err := x.f.Stat()
	if err != nil {
		return 0, err
	}
	return allocated(info), nil
}

// ownFile opens the file of a key and locks it exclusively. It returns nil if the file is missing
// or in use.
func (c *Cache) ownFile(k key) (*file, error) {
	f, err := c.root.OpenFile(k.name, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, trusted.ErrUntrusted) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := errors.Join(own(f), checkWhole(f, k)); err != nil {
		f.Close()
		if errors.Is(err, errBusy) || errors.Is(err, errStale) {
			err = nil
		}
		return nil, err
	}
	return newFile(f, k, false)
}

// keepOnly cuts the runs of the table to the bytes of spans, which are in order, and returns the
// bytes that it then holds. It drops a run whose bytes are damaged.
func (x *file) keepOnly(spans []shard.Span) (kept []shard.Span, err error) {
	err = shard.Guard(func() error {
		for block := range int64(len(x.table)) {
			e := x.entry(block)
			run := x.run(block, e)
			for len(spans) > 0 && spans[0].End() <= run.Off {
				spans = spans[1:]
			}
			cut, err := x.cut(block, e, within(run, spans))
			if err != nil {
				return err
			}
			if cut != e {
				x.swap(block, e, cut)
			}
			kept = appendSpan(kept, x.run(block, cut))
		}
		return nil
	})
	return kept, err
}

// within returns the bytes of a run from the first to the last in one of spans.
func within(run shard.Span, spans []shard.Span) (part shard.Span) {
	for _, s := range spans {
		if s.Off >= run.End() {
			break
		}
		if part.N == 0 {
			part.Off = max(run.Off, s.Off)
		}
		part.N = min(run.End(), s.End()) - part.Off
	}
	return part
}

// cut returns the entry of a part of a block's run.
func (x *file) cut(block int64, e entry, part shard.Span) (entry, error) {
	run := x.run(block, e)
	switch {
	case part.N == 0:
		return 0, nil
	case part == run:
		return e, nil
	}
	bytes := make([]byte, run.N)
	if err := x.readAt(bytes, run.Off); err != nil {
		return 0, err
	}
	if crc.Of(bytes) != e.sum() {
		return 0, nil
	}
	lo := int(part.Off - block*blockSize)
	return newEntry(crc.Of(bytes[part.Off-run.Off:][:part.N]), lo, lo+int(part.N)), nil
}

// punch makes holes of whole pages between the spans that are kept.
func (x *file) punch(kept []shard.Span, unit int64) error {
	from := int64(0)
	for _, s := range append(kept, shard.Span{Off: (x.fileLayout.size + unit - 1) / unit * unit}) {
		if to := s.Off / unit * unit; to > from {
			if err := punchHole(x.f, x.fileLayout.data+from, to-from); err != nil {
				return err
			}
		}
		from = (s.End() + unit - 1) / unit * unit
	}
	return nil
}
