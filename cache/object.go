package cache

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/shard"
)

// An object reads one shard through the cache. The inner object is opened when it is needed.
type object struct {
	cache *Cache
	store shard.Store
	shard shard.Shard
	key   key
	whole bool // whatever is read comes with all other bytes, and is kept

	opening *semaphore.Weighted // held by the caller that opens the inner object

	mu     sync.Mutex
	inner  shard.Object
	closed atomic.Bool
}

var (
	_ shard.RangeReader = (*object)(nil)
	_ shard.Lender      = (*object)(nil)
	_ shard.Discarder   = (*object)(nil)
)

func newObject(c *Cache, inner shard.Store, s shard.Shard, k key) *object {
	return &object{cache: c, store: inner, shard: s, key: k, opening: semaphore.NewWeighted(1)}
}

// ReadAt serves held bytes and fetches the others without keeping them, unless the whole shard is
// wanted. It reads footers and the like, which an index keeps; bytes of columns are read by
// ReadRanges and Lend.
func (o *object) ReadAt(ctx context.Context, p []byte, off int64) error {
	return o.read(ctx, []shard.Range{{Off: off, P: p}}, !o.whole)
}

// ReadRanges serves held bytes, fetches the others at once, and fills the cache with them.
func (o *object) ReadRanges(ctx context.Context, ranges []shard.Range) error {
	return o.read(ctx, ranges, false)
}

func (o *object) read(ctx context.Context, ranges []shard.Range, noFill bool) error {
	if err := o.check(ctx, ranges); err != nil {
		return o.wrap("read", err)
	}
	if bytesOf(ranges) == 0 {
		return nil
	}
	probe := wait.ProbeOf(ctx)
	defer probe.Idle(probe.Idle(wait.Cache))
	if err := o.cache.read(ctx, o, ranges, noFill); err != nil {
		return o.wrap("read", err)
	}
	return nil
}

// Discard drops held blocks whose bytes match their sum and are still wrong.
func (o *object) Discard(spans []shard.Span) {
	for _, s := range spans {
		o.cache.discard(o.key, s)
	}
}

func (o *object) check(ctx context.Context, ranges []shard.Range) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if o.closed.Load() {
		return fs.ErrClosed
	}
	return shard.CheckRanges(ranges, o.shard.Size)
}

// readSource fills ranges from the inner object.
func (o *object) readSource(ctx context.Context, ranges []shard.Range) error {
	probe := wait.ProbeOf(ctx)
	probe.Start()
	defer probe.End()
	inner, err := o.source(ctx)
	if err != nil {
		return err
	}
	return shard.ReadRanges(ctx, inner, ranges)
}

// source returns the inner object, opened at its first use. Callers that need it meanwhile wait,
// each within its own context.
func (o *object) source(ctx context.Context) (shard.Object, error) {
	if err := o.opening.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer o.opening.Release(1)
	o.mu.Lock()
	inner := o.inner
	o.mu.Unlock()
	if inner != nil {
		return inner, nil
	}
	if o.closed.Load() {
		return nil, fs.ErrClosed
	}
	inner, err := o.store.Open(ctx, o.shard)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed.Load() {
		return nil, errors.Join(fs.ErrClosed, inner.Close())
	}
	o.inner = inner
	return inner, nil
}

func (o *object) wrap(op string, err error) error { return wrap(op, o.shard.URI, err) }

// wrap adds the shard to an error, unless the inner store already did.
func wrap(op, uri string, err error) error {
	if e := (*shard.Error)(nil); errors.As(err, &e) && e.URI == uri {
		return err
	}
	return &shard.Error{Op: op, URI: uri, Err: err}
}

// Close closes the inner object. Leases stay.
func (o *object) Close() error {
	o.mu.Lock()
	inner := o.inner
	o.inner = nil
	o.closed.Store(true)
	o.mu.Unlock()
	if inner == nil {
		return nil
	}
	return inner.Close()
}
