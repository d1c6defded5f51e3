package s3

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// maxHole is the longest hole between two ranges that is read over: reading it takes as long as the
// first byte of another request (20 ms at 60 MB/s are some 1.2 MB).
const maxHole = 1 << 20 // bytes

// An object is one version of a key. It holds no connection and no memory.
type object struct {
	store  *Store
	shard  shard.Shard
	at     location
	closed atomic.Bool
}

var _ shard.RangeReader = (*object)(nil)

func (o *object) ReadAt(ctx context.Context, p []byte, off int64) error {
	return o.ReadRanges(ctx, []shard.Range{{Off: off, P: p}})
}

// ReadRanges reads all ranges with as few requests as the plan makes of them, several at a time.
func (o *object) ReadRanges(ctx context.Context, ranges []shard.Range) error {
	err := driver.Check(ctx, o.closed.Load(), ranges, o.shard.Size)
	if err == nil {
		parts := driver.Plan(ranges, driver.Sizes{Hole: maxHole, Size: o.store.o.PartSize})
		err = driver.ReadParts(ctx, parts, o.store.o.MaxRequests, o.read)
	}
	return o.wrap(err)
}

func (o *object) wrap(err error) error {
	if e := (*shard.Error)(nil); err == nil || errors.As(err, &e) {
		return err
	}
	return &shard.Error{Op: reading.op, URI: o.shard.URI, Err: err}
}

// Close forbids further reads. There is nothing to free.
func (o *object) Close() error {
	o.closed.Store(true)
	return nil
}
