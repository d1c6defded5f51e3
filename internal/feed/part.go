package feed

import (
	"sync"

	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A part is what one consumer has of an iteration: all batches, or as one of K torch workers each K-th. It calls the consumer, one call at a
// time, and never again once the consumer was told the end.
type part struct {
	join      Join
	consumer  consumer
	seat      *seat
	iteration *iteration // set when the session takes it

	mu      sync.Mutex // held while the consumer is called
	link    *link      // nil until the iteration begins
	batches int64
	over    bool
}

func (p *part) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over
}

// call calls the consumer, unless it was told the end.
func (p *part) call(f func(consumer)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return false
	}
	f(p.consumer)
	return true
}

// finish calls the consumer for the last time.
func (p *part) finish(f func(consumer)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return false
	}
	p.over = true
	f(p.consumer)
	return true
}

// connect makes the consumer's ring and the link to it, which is cut where the part is over already.
func (p *part) connect(need ringNeed) (*link, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx := p.iteration.session.opened.ctx
	if p.over {
		p.link = newLink(ctx, nil)
		return p.link, nil
	}
	ring, err := p.consumer.ring(need)
	if err != nil {
		return nil, err
	}
	p.link = newLink(ctx, ring)
	return p.link, nil
}

// relink takes over the link of the consumer's part of the iteration before.
func (p *part) relink(before *part) {
	before.mu.Lock()
	l := before.link
	before.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link = l; p.over {
		l.cancel()
	}
}

// unlink cuts the link.
func (p *part) unlink() {
	p.mu.Lock()
	l := p.link
	p.mu.Unlock()
	if l != nil {
		l.cut()
	}
}

func (p *part) fail(err error) {
	if p.finish(func(c consumer) { c.fail(err) }) {
		p.unlink()
	}
}

// end is the end of the epoch. The link stays: what is read ahead goes on to use it.
func (p *part) end(state shuffle.State) {
	p.finish(func(c consumer) { c.end(End{Batches: p.batches, State: state}) })
}

// deliver hands a batch over; one that nobody wants any more is released.
func (p *part) deliver(b *loader.Batch) error {
	var err error
	taken := p.call(func(c consumer) {
		p.batches++
		err = c.deliver(b)
	})
	if !taken {
		b.Release()
	}
	return err
}

// leave is LEAVE: the consumer is told that it left. It reports whether it was in the midst of an iteration.
func (p *part) leave() bool {
	state := p.iteration.whereabouts()
	left := p.finish(func(c consumer) { c.end(End{Left: true, Batches: p.batches, State: state}) })
	if left {
		p.unlink()
		p.iteration.left()
	}
	return left
}

// die is the end of the connection.
func (p *part) die() {
	inMidst := p.finish(func(consumer) {})
	p.unlink()
	p.iteration.died(p, inMidst)
}
