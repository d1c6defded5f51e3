package rowgroup

import (
	"context"
	"errors"
	"sync"

	"github.com/shardfeed/shardfeed/shard"
)

// maxOpen bounds the objects that are kept open without being in use, and so the file descriptors:
// several data sets are to fit into the 256 that some systems grant a process.
const maxOpen = 64

var errClosed = errors.New("the manifest is closed")

// objects keeps the shards open that were read last.
type objects struct {
	store  shard.Store
	shards []shard.Shard

	mu     sync.Mutex
	open   map[int]*openObject
	clock  int64
	closed bool
}

// An openObject is one shard. Its object and err are set once ready is closed.
type openObject struct {
	ready  chan struct{}
	object shard.Object
	err    error
	users  int   // guarded by objects.mu
	used   int64 // clock of the last use; guarded by objects.mu
}

func newObjects(store shard.Store, shards []shard.Shard) *objects {
	return &objects{store: store, shards: shards, open: map[int]*openObject{}}
}

// acquire returns shard i, opened if need be; the caller calls release with it when done.
func (o *objects) acquire(ctx context.Context, i int) (*openObject, error) {
	for {
		e, first, err := o.enter(i)
		if err != nil {
			return nil, err
		}
		if first {
			e.object, e.err = o.store.Open(ctx, o.shards[i])
			close(e.ready)
		}
		select {
		case <-e.ready:
		case <-ctx.Done():
			o.release(i, e)
			return nil, ctx.Err()
		}
		if e.err == nil {
			return e, nil
		}
		o.release(i, e)
		// The caller that opened it may have been cancelled; the others must not fail for that.
		if first || ctx.Err() != nil || !errors.Is(e.err, context.Canceled) && !errors.Is(e.err, context.DeadlineExceeded) {
			return nil, e.err
		}
	}
}

// enter counts the caller as a user of shard i; first means that the caller is to open it.
func (o *objects) enter(i int) (e *openObject, first bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, false, errClosed
	}
	e = o.open[i]
	if e == nil {
		e, first = &openObject{ready: make(chan struct{})}, true
		o.open[i] = e
	}
	e.users++
	o.clock++
	e.used = o.clock
	return e, first, nil
}

// release ends a use. A shard that failed to open is forgotten; those used longest ago, beyond the
// bound, are closed.
func (o *objects) release(i int, e *openObject) {
	o.mu.Lock()
	e.users--
	if e.users == 0 && e.err != nil && o.open[i] == e {
		delete(o.open, i)
	}
	var idle []*openObject
	if o.closed && e.users == 0 && e.object != nil {
		idle = append(idle, e)
	}
	for len(o.open) > maxOpen {
		old := o.evictLocked()
		if old == nil {
			break
		}
		idle = append(idle, old)
	}
	o.mu.Unlock()
	for _, e := range idle {
		_ = e.object.Close() // it was only read: nothing can be lost
	}
}

// evictLocked takes out the idle object that was used longest ago.
func (o *objects) evictLocked() (oldest *openObject) {
	at := 0
	for i, e := range o.open {
		if e.users == 0 && e.object != nil && (oldest == nil || e.used < oldest.used) {
			at, oldest = i, e
		}
	}
	if oldest != nil {
		delete(o.open, at)
	}
	return oldest
}

// close closes every object. Those still in use are named, and closed when they are released.
func (o *objects) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	o.closed = true
	var all []error
	for i, e := range o.open {
		if e.users > 0 {
			all = append(all, errors.New(o.shards[i].URI+": still in use"))
		} else if e.object != nil {
			all = append(all, e.object.Close())
		}
	}
	o.open = nil
	return errors.Join(all...)
}
