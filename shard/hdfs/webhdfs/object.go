package webhdfs

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// maxHole is how many bytes between two ranges are read and thrown away instead of making a request
// for each range: about what a connection brings while a namenode and a datanode answer.
const maxHole = 256 << 10

// An object reads one shard. It holds nothing but its address.
type object struct {
	cluster *cluster
	path    string // the name, cleaned
	shard   shard.Shard
	inode   int64 // 0 if unknown
	closed  atomic.Bool

	finished atomic.Bool // the file is known not to be open for writing
	byName   atomic.Bool // it cannot be read by its inode
}

var _ shard.RangeReader = (*object)(nil)

func newObject(c *cluster, path string, s shard.Shard) *object {
	o := &object{cluster: c, path: path, shard: s}
	_, o.inode, _ = splitVersion(s.Version)
	return o
}

func (o *object) ReadAt(ctx context.Context, p []byte, off int64) error {
	return o.ReadRanges(ctx, []shard.Range{{Off: off, P: p}})
}

// ReadRanges reads all ranges, in parts of which several are in flight, and then checks that the
// shard has not changed.
func (o *object) ReadRanges(ctx context.Context, ranges []shard.Range) error {
	if err := o.readRanges(ctx, ranges); err != nil {
		return wrap("read", o.shard.URI, err)
	}
	return nil
}

func (o *object) readRanges(ctx context.Context, ranges []shard.Range) error {
	if err := driver.Check(ctx, o.closed.Load(), ranges, o.shard.Size); err != nil {
		return err
	}
	parts := driver.Plan(ranges, driver.Sizes{Hole: maxHole, Size: o.cluster.store.options.PartSize})
	if len(parts) == 0 {
		return nil
	}
	byName := o.named()
	err := o.attempt(ctx, parts, byName)
	if err != nil && ctx.Err() == nil {
		var again bool
		if again, err = o.diagnose(ctx, err, byName); again {
			o.byName.Store(true)
			if err = o.attempt(ctx, parts, true); err == nil {
				o.cluster.byName.Store(true) // other objects need not try
			}
		}
	}
	return err
}

func (o *object) attempt(ctx context.Context, parts []driver.Part, byName bool) error {
	if err := o.readParts(ctx, parts, byName); err != nil {
		return err
	}
	return o.verify(ctx, byName)
}

// named reports whether the file is read by its name, since it cannot be by its inode.
func (o *object) named() bool {
	return o.inode <= 0 || inSnapshot(o.path) || o.byName.Load() || o.cluster.byName.Load()
}

func (o *object) target(byName bool) string {
	if byName {
		return o.path
	}
	return "/.reserved/.inodes/" + strconv.FormatInt(o.inode, 10)
}

// readParts reads all parts at once, as far as the cluster's window allows. The first failure ends
// the others. At the first read it also looks whether the file is finished.
func (o *object) readParts(ctx context.Context, parts []driver.Part, byName bool) error {
	group, inner := errgroup.WithContext(ctx)
	if !o.finished.Load() {
		group.Go(func() error { return o.finish(inner, byName) })
	}
	group.Go(func() error {
		return driver.ReadParts(inner, parts, o.cluster.store.options.MaxRequests, func(ctx context.Context, p driver.Part) error {
			if err := o.cluster.window.Acquire(ctx); err != nil {
				return err
			}
			defer o.cluster.window.Release()
			return o.cluster.read(ctx, o.target(byName), p)
		})
	})
	return group.Wait()
}

// finish refuses a file that is still being written, if the server shows it.
func (o *object) finish(ctx context.Context, byName bool) error {
	found, err := o.cluster.located(ctx, o.target(byName), o.shard.Size-1, 1)
	switch {
	case errors.Is(err, errUnsupported):
	case err != nil:
		return err
	case found.Open:
		return ErrUnfinished
	}
	o.finished.Store(true)
	return nil
}

// ErrUnfinished is a file that somebody is still writing.
var ErrUnfinished = errors.New("it is still being written")

// verify makes sure that the bytes that came are the shard's; see the package's documentation.
func (o *object) verify(ctx context.Context, byName bool) error {
	now, err := o.cluster.stat(ctx, o.target(byName))
	if err != nil {
		return err
	}
	return o.same(now)
}

// same compares a file with the shard. A server may show no inodes, now or when it listed, if it is
// of another kind: then the time decides.
func (o *object) same(now status) error {
	if now.Inode == 0 {
		now.Inode = o.inode
	}
	if err := now.differs(o.shard); err != nil {
		return err
	}
	return o.cluster.store.seen.Hold(o.shard, Version(now.Modified, now.Inode))
}

// diagnose finds out why a read failed, by looking at the name. Again is true when inodes turn out
// not to be readable by number here, so that the read is repeated by name.
func (o *object) diagnose(ctx context.Context, failed error, byName bool) (again bool, err error) {
	if passing(failed) {
		return false, failed
	}
	now, err := o.cluster.stat(ctx, o.path)
	switch {
	case errors.Is(err, shard.ErrNotExist):
		return false, err
	case err != nil: // the first failure is more informative
		return false, failed
	}
	if err := o.same(now); err != nil {
		return false, err
	}
	final := errors.Is(failed, ErrUnfinished) || errors.Is(failed, shard.ErrCorrupt)
	return !byName && !final, failed
}

// Close ends the object. It holds nothing; reads fail from then on.
func (o *object) Close() error {
	o.closed.Store(true)
	return nil
}
