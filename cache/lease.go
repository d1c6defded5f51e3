package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// Lend lends a mapping of the cache file if all n bytes are held; otherwise the error is
// errors.ErrUnsupported, and ReadRanges fetches the missing bytes. Verify verifies the bytes once,
// after their use.
//
// A file is mapped once for all leases; when a lease is released its pages leave the process's
// resident memory, which thus holds only pages of live leases. Pages are brought in for as many
// leases at a time as there are processors, in the order of their calls: with more, bytes would
// leave the processors' caches before they are decoded.
func (o *object) Lend(off, n int64) (shard.Lease, error) {
	if o.closed.Load() {
		return nil, o.wrap("read", fs.ErrClosed)
	}
	l, err := o.cache.lend(o.key, o.shard.URI, shard.Span{Off: off, N: n})
	if err != nil {
		return nil, err
	}
	if err := l.bringIn(); err != nil {
		l.Release()
		return nil, errors.ErrUnsupported
	}
	if n > 0 {
		o.cache.hits.Add(1)
		o.cache.hitBytes.Add(n)
	}
	return l, nil
}

// lend lends a mapping of bytes of a file, or returns errors.ErrUnsupported.
func (c *Cache) lend(k key, uri string, span shard.Span) (*lease, error) {
	if span.Within(k.size) != nil || c.disk.readsOff() {
		return nil, errors.ErrUnsupported
	}
	l := &lease{cache: c, uri: uri, span: span, bytes: []byte{}}
	if span.N == 0 {
		return l, nil
	}
	p, err := c.acquire(context.Background(), k, false) // it waits only for the disk
	if err != nil {
		return nil, errors.ErrUnsupported
	}
	// The count of damages is taken before the table is read, so that damage found from then on
	// counts against the lease. A fault here recurs there.
	_ = shard.Guard(func() error { l.damages = p.file.damages().Load(); return nil })
	if err := l.take(p); err != nil {
		if !errors.Is(err, errors.ErrUnsupported) {
			c.fileError(p, err) // before the release, which closes a file that is forgotten
		}
		c.files.release(p)
		return nil, errors.ErrUnsupported
	}
	return l, nil
}

// acquire opens the file of a key and reports disk errors. The caller must release it.
func (c *Cache) acquire(ctx context.Context, k key, orCreate bool) (*handle, error) {
	p, err := c.files.acquire(ctx, k, orCreate)
	if err == nil && p.file.key.size != k.size { // decoded bytes of the same shard, laid out differently
		c.files.release(p)
		return nil, errStale
	}
	if err != nil {
		c.diskError(err)
	}
	return p, err
}

// maxSettle is how long a discard waits for fills of its blocks to reach the disk.
const maxSettle = 5 * time.Second

// discard drops the blocks of a span of a file, if it exists. It waits for fills under way, which
// may hold the same bytes and would restore them.
func (c *Cache) discard(k key, span shard.Span) {
	if c.disk.readsOff() {
		return
	}
	p, err := c.acquire(context.Background(), k, false)
	if err != nil {
		return
	}
	defer c.files.release(p)
	late, cancel := context.WithTimeout(context.Background(), maxSettle)
	defer cancel()
	for _, s := range p.file.filling(span) {
		select {
		case <-s.done:
		case <-late.Done():
		}
	}
	c.fileError(p, p.file.discard(span))
}

// A lease is a span of a cache file, which it holds open.
type lease struct {
	cache    *Cache
	uri      string  // of the shard
	handle   *handle // nil if nothing is lent
	span     shard.Span
	bytes    []byte // of the span
	all      []byte // the mapping of the whole space of the file
	from, to int64  // the runs that the span touches, which may reach over its ends
	damages  uint32 // that the file had when it was lent
	released atomic.Bool
}

func (l *lease) Bytes() []byte { return l.bytes }

// take maps the runs that the span touches. The caller's use of the handle becomes the lease's.
func (l *lease) take(p *handle) error {
	c, x := l.cache, p.file
	var entries []entry
	err := shard.Guard(func() (err error) {
		entries, err = x.holds(l.span)
		return err
	})
	if err == nil {
		err = x.whole()
	}
	if err != nil {
		return err
	}
	if err := c.touch(x); err != nil {
		return err
	}
	all, err := x.mapData()
	if err != nil {
		return errors.Join(errors.ErrUnsupported, err)
	}
	first := l.span.Off / blockSize
	l.from = x.run(first, entries[0]).Off
	l.to = x.run(first+int64(len(entries))-1, entries[len(entries)-1]).End()
	l.handle, l.all = p, all
	l.bytes = all[l.span.Off:l.span.End():l.span.End()]
	return nil
}

// bringIn waits until the bytes are in memory.
func (l *lease) bringIn() error {
	if l.handle == nil {
		return nil
	}
	absent := readAhead(l.all, l.from, l.to)                                  // for as many leases as are asked for, so that the disk is busy
	if err := l.cache.arriving.Acquire(context.Background(), 1); err != nil { // earlier ones end without help
		return err
	}
	if absent {
		l.cache.diskReads.start()
		bringIn(l.all, l.from, l.to)
		l.cache.diskReads.end(l.to - l.from)
	}
	l.cache.arriving.Release(1)
	return nil
}

func (l *lease) Release() {
	if l.handle != nil && l.released.CompareAndSwap(false, true) {
		letGo(l.all, l.from, l.to)
		l.cache.files.release(l.handle)
	}
}

// Forget releases the pages of bytes that were used. Another lease of the same bytes faults them in
// again.
func (l *lease) Forget(used shard.Span) {
	if used.N > 0 {
		letGoUsed(l.all[used.Off:used.End()])
	}
}

// Verify verifies some of the bytes, in whole blocks. It also fails if a block of the file was
// found damaged since the bytes were lent: the block may be whole again, and may have been damaged
// when it was used. A cache file never changes its version. A block of decoded bytes is verified
// once for as long as its file is open; see file.verified.
func (l *lease) Verify(used shard.Span) error {
	if used.N == 0 {
		return nil
	}
	if l.handle == nil || l.released.Load() || used.Off < l.span.Off || used.End() > l.span.End() {
		return wrap("read", l.uri, fmt.Errorf("%d bytes from byte %d on are not lent", used.N, used.Off))
	}
	if err := l.verify(used); err != nil {
		if !errors.Is(err, errors.ErrUnsupported) {
			l.cache.fileError(l.handle, err)
		}
		return wrap("read", l.uri, fmt.Errorf("%w: its cache file was damaged at bytes %d to %d", shard.ErrCorrupt, used.Off, used.End()))
	}
	return nil
}

// verify returns errors.ErrUnsupported for damage, and another error for a file that is no longer
// usable.
func (l *lease) verify(used shard.Span) error {
	x := l.handle.file
	return shard.Guard(func() error {
		entries, err := x.holds(used)
		if err != nil {
			return err
		}
		if err := x.whole(); err != nil {
			return err
		}
		if err := l.cache.verifyMapped(x, used.Off/blockSize, entries, l.all); err != nil {
			return err
		}
		if x.damages().Load() != l.damages {
			return errors.ErrUnsupported
		}
		return nil
	})
}

// holds returns the entries of a span's blocks if they hold all of it, else errors.ErrUnsupported.
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

// verifyMapped verifies the runs of blocks in a row, in the mapping of the whole file, except those
// that are known to be right.
func (c *Cache) verifyMapped(x *file, first int64, entries []entry, all []byte) error {
	check := checker{file: x, cache: c}
	for i, e := range entries {
		block := first + int64(i)
		if x.wasVerified(block, e) {
			continue
		}
		run := x.run(block, e)
		if !check.verify(block, e, all[run.Off:run.End()]) {
			return errors.ErrUnsupported
		}
		x.setVerified(block, e)
	}
	return nil
}
