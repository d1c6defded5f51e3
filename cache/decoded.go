package cache

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardfeed/shardfeed/shard"
)

// Decoded holds decoded bytes of a shard version: an address space with holes. Its user lays out
// the space, such that the layout follows from the version. Opening a space of another size
// replaces the existing one.
//
// Decoded bytes can be made again, so no failure here is an error to a reader: bytes that cannot be
// lent are decoded from the shard. Methods are safe for concurrent use.
type Decoded struct {
	cache *Cache
	key   key
	uri   string
}

// OpenDecoded opens the space of size bytes for the decoded bytes of a shard. form names how they
// are decoded and laid out, in at most 32 letters, digits and dashes: each form has a space of its
// own, which determines size. OpenDecoded returns nil if the shard cannot be cached or the cache
// keeps nothing decoded. It does no I/O: the file is opened when it is needed.
func (c *Cache) OpenDecoded(store shard.Store, s shard.Shard, form string, size int64) *Decoded {
	if c.options.DecodedLimit == 0 {
		return nil
	}
	k, ok := decodedKeyOf(store, s, form, size)
	if !ok {
		return nil
	}
	return &Decoded{cache: c, key: k, uri: s.URI}
}

// Held returns the number of bytes held without a hole from off on, up to most. off must be a
// multiple of 64 KiB. Any failure counts as nothing held.
func (d *Decoded) Held(off, most int64) int64 {
	if d.cache.disk.readsOff() || off < 0 || off >= d.key.size || most <= 0 {
		return 0
	}
	p, err := d.cache.acquire(context.Background(), d.key, false)
	if err != nil {
		return 0
	}
	defer d.cache.files.release(p)
	held, err := p.file.heldFrom(shard.Span{Off: off, N: min(most, d.key.size-off)})
	d.cache.fileError(p, err)
	return held
}

// heldFrom returns how many bytes of a span are held, from its start to the first hole.
func (x *file) heldFrom(want shard.Span) (held int64, err error) {
	err = shard.Guard(func() error {
		for off := want.Off; off < want.End(); off = want.Off + held {
			block := off / blockSize
			run := x.run(block, x.entry(block))
			if run.Off > off || run.End() <= off {
				return nil
			}
			held = min(run.End(), want.End()) - want.Off
		}
		return nil
	})
	return held, err
}

// Lend lends a mapping of n bytes if all of them are held; otherwise the error is
// errors.ErrUnsupported. Bytes that are not in memory fault one page at a time: see ReadAhead. The
// lease verifies a block once for as long as its file is open.
func (d *Decoded) Lend(off, n int64) (shard.Lease, error) {
	l, err := d.cache.lend(d.key, d.uri, shard.Span{Off: off, N: n})
	if err != nil {
		return nil, err
	}
	d.cache.decodedHitBytes.Add(n)
	return l, nil
}

// MayStay reports whether a lease may be held for long. A lease keeps its file open, and such files
// may take a quarter of the process's limit of open files.
func (d *Decoded) MayStay() bool { return d.cache.files.mayStay() }

// Written returns a number that changes with each write to the file of the space, also by other
// programs, but not when its uses are stamped: bytes that were verified under a number are right
// while it stays the same. It is 0 if nothing is held.
func (d *Decoded) Written() int64 {
	if d.cache.disk.readsOff() {
		return 0
	}
	p, err := d.cache.acquire(context.Background(), d.key, false)
	if err != nil {
		return 0
	}
	defer d.cache.files.release(p)
	n, err := p.file.written()
	d.cache.fileError(p, err)
	return n
}

// Again counts another use of bytes that Lend lent before, without a new lease. It fails with
// errors.ErrUnsupported when Lend would.
func (d *Decoded) Again(l shard.Lease) error {
	x, ok := l.(*lease)
	if !ok || x.handle == nil || x.released.Load() || d.cache.disk.readsOff() {
		return errors.ErrUnsupported
	}
	f := x.handle.file
	err := shard.Guard(func() error { _, err := f.holds(x.span); return err })
	if errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err = errors.Join(err, f.whole()); err == nil {
		err = d.cache.touch(f)
	}
	if err != nil {
		d.cache.fileError(x.handle, err)
		return errors.ErrUnsupported
	}
	d.cache.decodedHitBytes.Add(x.span.N)
	return nil
}

// aheadBytes is the window that ReadAhead maps at a time.
const aheadBytes = 4 << 20

// ReadAhead waits until the held bytes of spans are in the kernel's memory. It maps at most 4 MiB
// of them at a time.
func (d *Decoded) ReadAhead(ctx context.Context, spans []shard.Span) {
	if d.cache.disk.readsOff() {
		return
	}
	p, err := d.cache.acquire(ctx, d.key, false)
	if err != nil {
		return
	}
	defer d.cache.files.release(p)
	all, err := p.file.mapData()
	for _, s := range spans {
		if err != nil || ctx.Err() != nil {
			break
		}
		if s.Within(d.key.size) == nil {
			s.N, err = p.file.heldFrom(s)
			passThrough(ctx, all, s)
		}
	}
	d.cache.fileError(p, err)
}

// passThrough brings a span of a mapping into memory, window by window; the disk reads the next one
// meanwhile.
func passThrough(ctx context.Context, all []byte, s shard.Span) {
	ahead := func(off int64) bool {
		return off < s.End() && readAhead(all, off, min(off+aheadBytes, s.End()))
	}
	absent := ahead(s.Off)
	for off := s.Off; off < s.End() && ctx.Err() == nil; off += aheadBytes {
		next := ahead(off + aheadBytes)
		if absent {
			end := min(off+aheadBytes, s.End())
			bringIn(all, off, end)
			letGo(all, off, end)
		}
		absent = next
	}
}

// MayKeep reports cheaply whether a Keep of n bytes has a chance now.
func (d *Decoded) MayKeep(n int64) bool {
	return !d.cache.disk.stuck() && d.cache.mayTake(room{n, true})
}

// Keep writes b at off, a multiple of 64 KiB. It leaves out blocks that are held or that others
// write. It waits for memory while too many bytes wait for the disk, and returns when b is copied,
// not when it is on the disk. The error is ErrFull if the cache lacks room.
func (d *Decoded) Keep(ctx context.Context, off int64, b []byte) error {
	want := shard.Range{Off: off, P: b}
	err := want.Span().Within(d.key.size)
	if err == nil && off%blockSize != 0 {
		err = fmt.Errorf("decoded bytes must start at a multiple of %d, got %d", blockSize, off)
	}
	if err == nil && len(b) > 0 {
		err = d.keep(ctx, want)
	}
	if err != nil {
		return wrap("keep", d.uri, err)
	}
	return nil
}

func (d *Decoded) keep(ctx context.Context, want shard.Range) error {
	c := d.cache
	switch {
	case c.root.ReadOnly():
		return errReadOnly
	case c.disk.fillsOff():
		return errOff
	}
	p, err := c.acquire(ctx, d.key, true)
	if err != nil {
		return err
	}
	defer c.files.release(p)
	got, err := d.claim(p, want)
	if err != nil {
		c.fileError(p, err)
		return err
	}
	for i, s := range got {
		if err := c.fillInTime(ctx, s, []shard.Range{want}); err != nil {
			c.abandon(got[i+1:], err)
			return err
		}
	}
	return nil
}

// claim claims the blocks of a range that are not held, and that no other writes.
func (d *Decoded) claim(p *handle, want shard.Range) ([]*segment, error) {
	c := d.cache
	held, err := p.file.heldFrom(want.Span())
	missing := want.Span().N - held
	if err != nil || missing == 0 {
		return nil, err
	}
	if !c.mayTake(room{missing, true}) {
		return nil, ErrFull
	}
	if err := c.touch(p.file); err != nil {
		return nil, err
	}
	got, err := c.claimAll(p, []shard.Span{want.Span()})
	if err != nil {
		return nil, err
	}
	return got.mine, nil
}

// Discard drops bytes that turned out to be damaged or wrong, in whole blocks, so that they can be
// kept again.
func (d *Decoded) Discard(off, n int64) {
	if !d.cache.root.ReadOnly() {
		d.cache.discard(d.key, shard.Span{Off: off, N: n})
	}
}
