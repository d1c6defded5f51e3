package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/hdfs/wire"
)

// An object is a file at one version. It holds no connection: each read borrows clients, and looks
// at the file again before it reads.
type object struct {
	store  *Store
	at     location
	shard  shard.Shard
	closed atomic.Bool

	blockSize atomic.Int64            // 0: not known yet
	blocks    atomic.Pointer[located] // of the shard's version, once known

	mu  sync.Mutex
	web shard.Object // for reads that are impossible natively, or nil
}

var _ shard.RangeReader = (*object)(nil)

func (o *object) ReadAt(ctx context.Context, p []byte, off int64) error {
	return o.ReadRanges(ctx, []shard.Range{{Off: off, P: p}})
}

// ReadRanges reads over small holes, and long ranges by several streams at once.
func (o *object) ReadRanges(ctx context.Context, ranges []shard.Range) error {
	err := driver.Check(ctx, o.closed.Load(), ranges, o.shard.Size)
	if err == nil {
		err = o.read(ctx, ranges)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = cause.Of(ctx)
		}
		return wrap("read", o.shard.URI, err)
	}
	return nil
}

func (o *object) read(ctx context.Context, ranges []shard.Range) error {
	web, err := o.openWeb(ctx, nil)
	if err != nil {
		return err
	}
	if web != nil {
		return shard.ReadRanges(ctx, web, ranges)
	}
	// A part ends with a block if possible, since a stream ends there.
	parts := driver.Plan(ranges, driver.Sizes{Hole: maxHole, Size: o.store.options.PartSize, Block: o.blockSize.Load(), Least: minPart})
	err = driver.ReadParts(ctx, parts, o.store.options.Slots, o.readPart)
	if o.store.options.AllowUnverified && o.store.transfer.Opaque.Load() > 0 {
		o.store.warn("transfers from datanodes are encrypted and are not verified, as hdfs.allow_unverified has it")
	}
	if _, native := errors.AsType[*errNative](err); native || errors.Is(err, wire.ErrOpaque) {
		if web, err = o.openWeb(ctx, err); err == nil {
			err = shard.ReadRanges(ctx, web, ranges)
		}
	}
	return err
}

const (
	// maxHole is the widest gap between two ranges that is read through. A new stream costs two
	// calls of a namenode, a connection, and the datanode's seek; the network carries about this
	// many bytes in that time.
	maxHole = 1 << 20
	// minPart is the least that is worth a stream of its own.
	minPart = 4 << 20
)

// openWeb returns the object that reads the shard over HTTP: the existing one, or a new one if why
// shows that there is no other way, else nil.
func (o *object) openWeb(ctx context.Context, why error) (shard.Object, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.web != nil {
		return o.web, nil
	}
	c := o.at.cluster
	if why == nil && c.opaque.Load() {
		why = wire.ErrOpaque
	}
	if why == nil {
		return nil, nil
	}
	if errors.Is(why, wire.ErrOpaque) {
		c.opaque.Store(true)
		why = &errNative{how: wire.ErrOpaque.Error(), word: true}
	}
	bases := c.bases()
	if len(bases) == 0 {
		return nil, why
	}
	o.store.warn(fmt.Sprintf("files of hdfs://%s are read by WebHDFS at %s: %v", c.ns.Name, bases[0], why))
	web, err := o.store.web.OpenAt(ctx, bases, o.at.path, o.shard)
	if err != nil {
		return nil, err
	}
	if o.closed.Load() {
		return nil, errors.Join(fs.ErrClosed, web.Close())
	}
	o.web = web
	return web, nil
}

// Close lets reads fail from now on.
func (o *object) Close() error {
	if o.closed.Swap(true) {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.web == nil {
		return nil
	}
	return o.web.Close()
}
