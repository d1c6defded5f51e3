package cache

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/shard"
)

// View lends a mapping of the cache file when all n bytes are held, verified when it is made; else errors.ErrUnsupported, and a read
// fetches what is missing. A view has a mapping of its own, so that the process's resident memory holds the pages of live views alone.
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

// view maps the runs that a span touches, which reach over its ends, and verifies them. The caller's use of the place becomes the view's.
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
	first := want.Off / blockSize
	start := x.run(first, entries[0]).Off
	end := x.run(first+int64(len(entries))-1, entries[len(entries)-1]).End()
	aligned := start - start%int64(os.Getpagesize())
	mapped, err := mapPages(x.f, x.layout.data+aligned, end-aligned)
	if err != nil {
		return nil, nil, errors.Join(errors.ErrUnsupported, err)
	}
	err = shard.Guard(func() error { return c.verifyMapped(x, first, entries, mapped, aligned) })
	if err != nil {
		unmap(mapped)
		return nil, nil, err
	}
	var released atomic.Bool
	return mapped[want.Off-aligned : want.End()-aligned : want.End()-aligned], func() {
		if released.CompareAndSwap(false, true) {
			unmap(mapped)
			c.shelf.release(p)
		}
	}, nil
}

// holds returns the entries of the blocks of a span when they hold all of it, else errors.ErrUnsupported.
func (x *file) holds(want shard.Span) (entries []entry, err error) {
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

// verifyMapped verifies mapped runs of blocks in a row. Bytes from aligned on are mapped.
func (c *Cache) verifyMapped(x *file, first int64, entries []entry, mapped []byte, aligned int64) error {
	check := checker{file: x, cache: c}
	for i, e := range entries {
		run := x.run(first+int64(i), e)
		if !check.verify(first+int64(i), e, mapped[run.Off-aligned:run.End()-aligned]) {
			return errors.ErrUnsupported
		}
	}
	return nil
}
