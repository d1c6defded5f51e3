package s3

import (
	"context"
	"errors"
	"io/fs"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// An object is one version of a key. It holds no connection and no memory: each read asks anew, for that version alone.
type object struct {
	store  *Store
	shard  shard.Shard
	at     location
	closed atomic.Bool
}

var (
	_ shard.Object      = (*object)(nil)
	_ shard.RangeReader = (*object)(nil)
)

// ReadAt reads one range.
func (o *object) ReadAt(ctx context.Context, p []byte, off int64) error {
	return o.ReadRanges(ctx, []shard.Range{{Off: off, P: p}})
}

// ReadRanges reads all ranges with as few requests as the plan makes of them, several at a time.
func (o *object) ReadRanges(ctx context.Context, ranges []shard.Range) error {
	if err := ctx.Err(); err != nil {
		return o.wrap(err)
	}
	if o.closed.Load() {
		return o.wrap(fs.ErrClosed)
	}
	if err := shard.CheckRanges(ranges, o.shard.Size); err != nil {
		return o.wrap(err)
	}
	parts := plan(ranges, maxHole, o.store.o.PartSize)
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return o.read(ctx, parts[0])
	}
	return o.readAll(ctx, parts)
}

// readAll reads the parts side by side. The first error ends the others, and all have ended when it returns.
func (o *object) readAll(ctx context.Context, parts []part) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(o.store.o.MaxRequests)
	for _, p := range parts {
		if inner.Err() != nil {
			break
		}
		group.Go(func() error { return o.read(inner, p) })
	}
	err := group.Wait()
	if ctx.Err() != nil { // the caller's, not that of a part that failed
		return o.wrap(driver.Ended(ctx))
	}
	return err
}

func (o *object) wrap(err error) error {
	if e := (*shard.Error)(nil); errors.As(err, &e) {
		return err
	}
	return &shard.Error{Op: reading.op, URI: o.shard.URI, Err: err}
}

// Close forbids further reads. There is nothing to free.
func (o *object) Close() error {
	o.closed.Store(true)
	return nil
}
