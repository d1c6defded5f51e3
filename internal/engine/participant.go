package engine

import (
	"github.com/shardfeed/shardfeed/internal/engine/wire"
)

import "github.com/shardfeed/shardfeed/shuffle"

// A participant is one consumer's share of an iteration: all batches, or each K-th for one of K
// torch workers; replicas have the same share. Under the session's lock it calls the consumer, one
// call at a time, and never again after the end.
type participant struct {
	join      wire.Join
	consumer  consumer
	client    *client
	session   *session
	iteration *iteration // set when the session takes it
	seat      *seat      // set when the iteration is complete

	// Guarded by the session's mutex.
	batches int64
	over    bool
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

// unlink ends the use of the ring when no other replica reads it. The session's mutex is held.
func (p *participant) unlink() {
	if p.seat != nil && len(p.seat.consumers()) == 0 {
		p.seat.unlink()
	}
}

// fail ends the participant with an error. The session's mutex is held.
func (p *participant) fail(err error) {
	if p.finish(func(c consumer) { c.fail(err) }) {
		p.unlink()
	}
}

// end ends the participant with its epoch. The ring stays for what is read ahead. The session's
// mutex is held.
func (p *participant) end(state shuffle.State) {
	p.finish(func(c consumer) { c.end(wire.End{Batches: p.batches, State: state}) })
}

// leave handles LEAVE. It reports whether it ended an iteration.
func (p *participant) leave() bool {
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	left := p.finish(func(c consumer) { c.end(wire.End{Left: true, Batches: p.batches, State: p.iteration.now}) })
	if left {
		p.unlink()
		p.iteration.left()
	}
	return left
}

// divide sets the share of the images that the engine decodes, which the first participant decides.
func (p *participant) divide(share float64) {
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	if p.join.Place() == 0 {
		p.iteration.divide(share)
	}
}

// disconnect handles the end of the connection.
func (p *participant) disconnect() {
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	inMidst := p.finish(func(consumer) {})
	p.unlink()
	p.iteration.disconnected(p, inMidst)
}
