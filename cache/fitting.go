package cache

import (
	"context"
	"errors"
	"io/fs"

	"github.com/shardfeed/shardfeed/shard"
)

// runsPerPage is the number of runs of a file that a file system describes in a page of its own.
const runsPerPage = 256

// Fitting returns the first of the wanted bytes whose Fill takes at most room of the disk, and the
// most that it takes: whole pages, the bytes between the wanted ones of a block, and the head of a
// file that does not exist yet.
func (c *Cache) Fitting(inner shard.Store, w Wanted, room int64) (fit []shard.Span, growth int64, err error) {
	k, ok := keyOf(inner, w.Shard)
	if !ok {
		return nil, 0, nil
	}
	spans, err := newObject(c, inner, w.Shard, k).normal(w.Spans)
	if err != nil {
		return nil, 0, err
	}
	g := growing{size: k.size, unit: c.unit}
	held := func(int64) entry { return 0 }
	p, err := c.files.acquire(context.Background(), k, false)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, errStale):
		g.head = fileLayoutOf(k).head()
	case err != nil:
		return nil, 0, err
	default:
		defer c.files.release(p)
		held = p.file.entry
	}
	err = shard.Guard(func() error { fit = g.fitting(spans, room, held); return nil })
	return fit, g.total(), err
}

// growing adds up the disk space that a file grows by.
type growing struct {
	size int64 // of the shard
	unit int
	head int64
	runs int64
	data int64
}

// fitting returns the spans before the first block that does not fit into room.
func (g *growing) fitting(spans []shard.Span, room int64, held func(block int64) entry) []shard.Span {
	for _, n := range needsOf(spans) {
		p, ok := n.patch(held(n.block), g.size)
		if !ok {
			continue
		}
		with := *g
		with.runs++
		with.data += p.growth(g.size, g.unit)
		if with.total() > room {
			return before(spans, n.block*blockSize)
		}
		*g = with
	}
	return spans
}

// total returns the space in whole pages, nothing if no run grows.
func (g *growing) total() int64 {
	if g.runs == 0 {
		return 0
	}
	unit := int64(g.unit)
	return (g.head+unit-1)/unit*unit + g.data + (g.runs+runsPerPage-1)/runsPerPage*unit
}

// before returns the parts of spans before end.
func before(spans []shard.Span, end int64) (cut []shard.Span) {
	for _, s := range spans {
		if s.N = min(s.N, end-s.Off); s.N <= 0 {
			break
		}
		cut = append(cut, s)
	}
	return cut
}
