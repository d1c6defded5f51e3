package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/shard"
)

// View lends a mapping of the cache file when all n bytes are held, verified when it is lent; else errors.ErrUnsupported, and ReadRanges
// fetches what is missing. A file is mapped once for all views; the pages of a view that is released leave the process's resident memory,
// so that this holds those of live views alone. As many views are verified at a time as there are processors, in the order of their calls:
// more would bring in pages that are out of the processors' caches again when they are decoded.
func (o *object) View(off, n int64) (b []byte, release func(), err error) {
	if o.isClosed() {
		return nil, nil, o.wrap("read", fs.ErrClosed)
	}
	c := o.cache
	if o.inside(off, n) != nil || c.disk.readsOff() {
		return nil, nil, errors.ErrUnsupported
	}
	if n == 0 {
		return []byte{}, func() {}, nil
	}
	p, err := c.shelf.acquire(context.Background(), o.key, false) // it waits for the disk alone
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			c.diskError(err)
		}
		return nil, nil, errors.ErrUnsupported
	}
	b, release, err = c.view(p, shard.Span{Off: off, N: n})
	if err != nil {
		c.shelf.release(p)
		if !errors.Is(err, errors.ErrUnsupported) {
			c.fileError(p, err)
		}
		return nil, nil, errors.ErrUnsupported
	}
	c.hits.Add(1)
	c.hitBytes.Add(n)
	return b, release, nil
}

// view verifies the runs that a span touches, which may reach over its ends. The caller's use of the place becomes the view's.
func (c *Cache) view(p *place, want shard.Span) ([]byte, func(), error) {
	x := p.file
	var entries []entry
	err := shard.Guard(func() (err error) {
		entries, err = x.holds(want)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if err := c.touch(x); err != nil {
		return nil, nil, err
	}
	all, err := x.mapData()
	if err != nil {
		return nil, nil, errors.Join(errors.ErrUnsupported, err)
	}
	first := want.Off / blockSize
	start := x.run(first, entries[0]).Off
	end := x.run(first+int64(len(entries))-1, entries[len(entries)-1]).End()
	absent := readAhead(all, start, end)                                 // of as many views as are asked for, so that the disk is busy
	if err := c.verifying.Acquire(context.Background(), 1); err != nil { // those before come to their end by themselves
		return nil, nil, err
	}
	if absent {
		bringIn(all, start, end)
	}
	err = shard.Guard(func() error { return c.verifyMapped(x, first, entries, all) })
	c.verifying.Release(1)
	if err != nil {
		letGo(all, start, end)
		return nil, nil, err
	}
	var released atomic.Bool
	return all[want.Off:want.End():want.End()], func() {
		if released.CompareAndSwap(false, true) {
			letGo(all, start, end)
			c.shelf.release(p)
		}
	}, nil
}

// Recheck verifies again what a view that is not released lent. Words that have become zero, or another run, say that the bytes were damaged.
func (o *object) Recheck(off, n int64) error {
	if n == 0 {
		return nil
	}
	c := o.cache
	p, err := c.shelf.acquire(context.Background(), o.key, false) // the view holds it
	if err == nil {
		err = c.recheck(p.file, shard.Span{Off: off, N: n})
		c.shelf.release(p)
	}
	if err != nil {
		return o.wrap("read", fmt.Errorf("%w: bytes %d to %d of its cache file changed while they were used", shard.ErrCorrupt, off, off+n))
	}
	return nil
}

func (c *Cache) recheck(x *file, want shard.Span) error {
	return shard.Guard(func() error {
		entries, err := x.holds(want)
		if err != nil {
			return err
		}
		all, err := x.mapData()
		if err != nil {
			return err
		}
		return c.verifyMapped(x, want.Off/blockSize, entries, all)
	})
}

// holds returns the entries of the blocks of a span when they hold all of it, else errors.ErrUnsupported.
func (x *file) holds(want shard.Span) (entries []entry, err error) {
	entries = make([]entry, 0, want.N/blockSize+2)
	for off := want.Off; off < want.End(); {
		block := off / blockSize
		next := min(want.End(), (block+1)*blockSize)
		e := x.entry(block)
		if run := x.run(block, e); run.Off > off || run.End() < next {
			return nil, errors.ErrUnsupported
		}
		entries = append(entries, e)
		off = next
	}
	return entries, nil
}

// verifyMapped verifies the runs of blocks in a row, in the mapping of the whole shard.
func (c *Cache) verifyMapped(x *file, first int64, entries []entry, all []byte) error {
	check := checker{file: x, cache: c}
	for i, e := range entries {
		run := x.run(first+int64(i), e)
		if !check.verify(first+int64(i), e, all[run.Off:run.End()]) {
			return errors.ErrUnsupported
		}
	}
	return nil
}
