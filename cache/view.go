package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/shardfeed/shardfeed/shard"
)

// View lends a mapping of the cache file if all n bytes are held; otherwise the error is
// errors.ErrUnsupported, and ReadRanges fetches what is missing. Recheck verifies the bytes once,
// after their use: see shard.Rechecker.
//
// A file is mapped once for all views; the pages of a view that is released leave the process's
// resident memory, so that this holds those of live views alone. Pages come in for as many views at
// a time as there are processors, in the order of their calls: with more, bytes would have left the
// processors' caches before they are decoded.
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
	p, err := c.files.acquire(context.Background(), o.key, false) // it waits for the disk alone
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			c.diskError(err)
		}
		return nil, nil, errors.ErrUnsupported
	}
	want := shard.Span{Off: off, N: n}
	if !o.lend(p.file, want) {
		c.files.release(p)
		return nil, nil, errors.ErrUnsupported
	}
	b, done, err := c.view(p, want)
	if err != nil {
		o.giveBack(want)
		c.files.release(p)
		if !errors.Is(err, errors.ErrUnsupported) {
			c.fileError(p, err)
		}
		return nil, nil, errors.ErrUnsupported
	}
	c.hits.Add(1)
	c.hitBytes.Add(n)
	return b, sync.OnceFunc(func() {
		o.giveBack(want)
		done()
	}), nil
}

// A loan is the unreleased views of one span. They keep their file open.
type loan struct {
	file    *file
	views   int
	damages uint32 // that the file had when the first view was lent
}

// lend notes a view before it looks at the table, so that damage found from then on counts against
// the view. False says that the same span is lent of an older file, which was dropped since.
func (o *object) lend(x *file, span shard.Span) bool {
	var damages uint32
	_ = shard.Guard(func() error { damages = x.damages().Load(); return nil }) // what faults here faults at the look at the table too
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.loans == nil {
		o.loans = map[shard.Span]loan{}
	}
	l, ok := o.loans[span]
	if !ok {
		l = loan{file: x, damages: damages}
	}
	if l.file != x {
		return false
	}
	l.views++
	o.loans[span] = l
	return true
}

func (o *object) giveBack(span shard.Span) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.loans[span]
	if l.views--; l.views > 0 {
		o.loans[span] = l
	} else {
		delete(o.loans, span)
	}
}

// view maps the runs that a span touches, which may reach over its ends. The caller's use of the
// place becomes the view's.
func (c *Cache) view(p *handle, want shard.Span) ([]byte, func(), error) {
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
	absent := readAhead(all, start, end)                                // of as many views as are asked for, so that the disk is busy
	if err := c.arriving.Acquire(context.Background(), 1); err != nil { // it cannot block for long: holders only wait for the disk
		return nil, nil, err
	}
	if absent {
		bringIn(all, start, end)
	}
	c.arriving.Release(1)
	return all[want.Off:want.End():want.End()], func() {
		letGo(all, start, end)
		c.files.release(p)
	}, nil
}

// Forget releases the pages of bytes that were used. Other views of them fault them in again.
func (o *object) Forget(used []byte) { letGoUsed(used) }

// Recheck verifies a part of a view that is not released, in whole blocks. It also fails if any
// reader has found a block of the file damaged since: the block may be whole again, and may have
// been damaged when it was used.
func (o *object) Recheck(lent, used shard.Span) error {
	if used.N == 0 {
		return nil
	}
	o.mu.Lock()
	l, ok := o.loans[lent]
	o.mu.Unlock()
	if !ok || used.Off < lent.Off || used.End() > lent.End() {
		return o.wrap("read", fmt.Errorf("%d bytes from byte %d on are not lent", used.N, used.Off))
	}
	if err := o.cache.recheck(l, used); err != nil {
		return o.wrap("read", fmt.Errorf("%w: its cache file was damaged at bytes %d to %d", shard.ErrCorrupt, used.Off, used.End()))
	}
	return nil
}

func (c *Cache) recheck(l loan, used shard.Span) error {
	return shard.Guard(func() error {
		entries, err := l.file.holds(used)
		if err != nil {
			return err
		}
		all, err := l.file.mapData()
		if err != nil {
			return err
		}
		if err := c.verifyMapped(l.file, used.Off/blockSize, entries, all); err != nil {
			return err
		}
		if l.file.damages().Load() != l.damages {
			return errStale
		}
		return nil
	})
}

// holds returns the entries of the blocks of a span when they hold all of it, else
// errors.ErrUnsupported.
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
