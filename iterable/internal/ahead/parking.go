package ahead

import (
	"context"
	"errors"
	"sync"

	"github.com/shardfeed/shardfeed/internal/wait"
)

// errLater refuses memory beyond the estimate to a load that the consumer does not need yet.
var errLater = errors.New("the load is decoded when it is needed")

// A parking keeps fetched loads that take more memory than predicted until the consumer needs them
// and they get it, and evicted loads. It closes the queue of the decoders once the consumer has all
// loads.
type parking struct {
	changed chan struct{} // has a value when run has to look again

	mu     sync.Mutex
	loads  []*Load
	open   int // loads that are fetched and not the consumer's, and have not failed
	closed bool
}

// run hands loads that are needed back to the decoders, until the consumer has all or ctx ends.
// fetched is closed when no more are fetched.
func (p *parking) run(ctx context.Context, r *Reader, fetched chan struct{}) {
	defer r.decode.close()
	defer p.close(ctx, r)
	for last := false; ; {
		l, open := p.take(r.needed.Load())
		switch {
		case l != nil:
			l.trail.Until(wait.Now(), wait.Room)
			l.trail.Next(wait.Decode)
			r.decode.put(ctx, l)
			continue
		case last && open == 0:
			return
		}
		select {
		case <-p.changed:
		case <-fetched:
			fetched, last = nil, true
		case <-ctx.Done():
			if !last {
				<-fetched // fetchers may still use the queue
			}
			return
		}
	}
}

// take returns a load that is needed, if there is one, and how many are open.
func (p *parking) take(needed int64) (l *Load, open int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, one := range p.loads {
		if one.number <= needed {
			p.loads = append(p.loads[:i], p.loads[i+1:]...)
			return one, p.open
		}
	}
	return nil, p.open
}

// enter counts a load that is fetched.
func (p *parking) enter(l *Load) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open++
	l.open = true
}

// leave ends the count of a load.
func (p *parking) leave(l *Load) {
	if !l.open {
		return
	}
	l.open = false
	p.mu.Lock()
	p.open--
	last := p.open == 0
	p.mu.Unlock()
	if last {
		p.look()
	}
}

// park keeps a load; false when it is too late for that.
func (p *parking) park(l *Load) bool {
	l.trail.Next(wait.Room)
	p.mu.Lock()
	if !p.closed {
		p.loads = append(p.loads, l)
	}
	kept := !p.closed
	p.mu.Unlock()
	p.look()
	return kept
}

// look lets run look again.
func (p *parking) look() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// close fails the loads that are left.
func (p *parking) close(ctx context.Context, r *Reader) {
	p.mu.Lock()
	left := p.loads
	p.loads, p.closed = nil, true
	p.mu.Unlock()
	for _, l := range left {
		r.evictable.work(l)
		r.fail(l, context.Cause(ctx))
	}
}
