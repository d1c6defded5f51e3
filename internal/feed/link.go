package feed

import (
	"context"
	"sync"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/loader"
)

// A link is a consumer's ring as a run sees it, over all its iterations. Once it is cut, batches go where nobody sees them.
type link struct {
	ring   loader.Allocator // nil: cut from the beginning
	ctx    context.Context
	cancel context.CancelFunc
	begin  sync.Mutex // held while the ring is asked for a slot
}

func newLink(ctx context.Context, ring loader.Allocator) *link {
	l := &link{ring: ring}
	l.ctx, l.cancel = context.WithCancel(ctx)
	if ring == nil {
		l.cancel()
	}
	return l
}

// cut ends the use of the ring, and waits until nobody asks it any more.
func (l *link) cut() {
	l.cancel()
	l.begin.Lock()
	defer l.begin.Unlock()
}

// memory begins a batch in the ring.
func (l *link) memory(ctx context.Context, size int, nobody loader.Allocator) (loader.Memory, error) {
	l.begin.Lock()
	defer l.begin.Unlock()
	if l.ctx.Err() == nil {
		both, cancel := context.WithCancelCause(ctx)
		stop := context.AfterFunc(l.ctx, func() { cancel(l.ctx.Err()) })
		m, err := l.ring.Begin(both, size)
		stop()
		cancel(nil)
		if err == nil || ctx.Err() != nil || l.ctx.Err() == nil {
			return m, err
		}
	}
	return nobody.Begin(ctx, size)
}

// unseen is the allocator of batches for consumers that have left: memory of the pool.
type unseen struct{ pool *mem.Pool }

func (u unseen) Begin(context.Context, int) (loader.Memory, error) {
	return unseenMemory{u.pool.NewArena()}, nil
}

type unseenMemory struct{ arena *mem.Arena }

func (m unseenMemory) Alloc(n int) ([]byte, error) { return m.arena.Alloc(n)[:n:n], nil }

func (m unseenMemory) Free() { m.arena.Free() }
