package engine

import (
	"context"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A participant is one consumer's share of an iteration: all batches, or each K-th for one of K
// torch workers. Under the session's lock it calls the consumer, one call at a time, and never
// again after the end.
type participant struct {
	join      Join
	consumer  consumer
	client    *client
	session   *session
	iteration *iteration // set when the session takes it

	// Guarded by the session's mutex.
	batches int64
	over    bool

	// The consumer's ring for all iterations of a run, from connect on. The run's loader allocates
	// in it until cut. The participant of the next iteration takes it over.
	ring loader.Allocator
	ctx  context.Context
	cut  context.CancelFunc
}

func (p *participant) isOver() bool {
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	return p.over
}

// call calls the consumer, unless it got the end. The session's mutex is held.
func (p *participant) call(f func(consumer)) bool {
	if p.over {
		return false
	}
	f(p.consumer)
	return true
}

// finish calls the consumer for the last time. The session's mutex is held.
func (p *participant) finish(f func(consumer)) bool {
	called := p.call(f)
	p.over = true
	return called
}

// connect makes the consumer's ring for the loader, unless the participant is over already.
func (p *participant) connect(need ringNeed) (err error) {
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	p.unlink()
	p.ctx, p.cut = context.WithCancel(p.session.dataset.ctx)
	if p.over {
		p.cut()
		return nil
	}
	p.ring, err = p.consumer.ring(need)
	return err
}

// takeOver takes over the ring of the consumer's participant of the last iteration. The session's
// mutex is held.
func (p *participant) takeOver(before *participant) {
	if p.ring, p.ctx, p.cut = before.ring, before.ctx, before.cut; p.over {
		p.cut()
	}
}

// unlink ends the use of the ring. The loader reads on into memory that no one sees. The session's
// mutex is held.
func (p *participant) unlink() {
	if p.cut != nil {
		p.cut()
	}
}

// memory returns a slot of the ring, or memory of the pool once the consumer has left.
func (p *participant) memory(ctx context.Context, size int, pool *mem.Pool) (loader.Memory, error) {
	if p.ctx.Err() == nil {
		both, cancel := context.WithCancelCause(ctx)
		stop := context.AfterFunc(p.ctx, func() { cancel(p.ctx.Err()) })
		m, err := p.ring.Begin(both, size)
		stop()
		cancel(nil)
		if err == nil || ctx.Err() != nil || p.ctx.Err() == nil {
			return m, err
		}
	}
	return discarded{pool.NewArena()}, nil
}

type discarded struct{ arena *mem.Arena }

func (m discarded) Alloc(n int) ([]byte, error) { return m.arena.Alloc(n)[:n:n], nil }

func (m discarded) Free() { m.arena.Free() }

// fail ends the participant with an error. The session's mutex is held.
func (p *participant) fail(err error) {
	if p.finish(func(c consumer) { c.fail(err) }) {
		p.unlink()
	}
}

// end ends the participant with its epoch. The ring stays for what is read ahead. The session's
// mutex is held.
func (p *participant) end(state shuffle.State) {
	p.finish(func(c consumer) { c.end(End{Batches: p.batches, State: state}) })
}

// leave handles LEAVE. It reports whether it ended an iteration.
func (p *participant) leave() bool {
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	left := p.finish(func(c consumer) { c.end(End{Left: true, Batches: p.batches, State: p.iteration.now}) })
	if left {
		p.unlink()
		p.iteration.left()
	}
	return left
}

// disconnect handles the end of the connection.
func (p *participant) disconnect() {
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	inMidst := p.finish(func(consumer) {})
	p.unlink()
	p.iteration.disconnected(p, inMidst)
}
