package feed

import (
	"fmt"
	"sync"
)

// A seat is what a connection has of an open data set: the sessions of its data set object, and a part of one iteration at a time. Its methods
// are called by one goroutine, but for close.
type seat struct {
	engine *engine
	hello  Hello
	group  *group

	mu     sync.Mutex
	part   *part // of the last iteration that it joined
	closed bool
}

// join begins an iteration or takes part in one. It waits for nothing: what comes of it, the consumer is told.
func (s *seat) join(j Join, c consumer) error {
	j.WorldSize = max(1, j.WorldSize)
	switch {
	case j.Rank < 0 || j.Rank >= j.WorldSize:
		return valueError("rank %d is not one of a world of %d", j.Rank, j.WorldSize)
	case j.Worker < 0 || j.Worker >= max(1, j.Workers):
		return valueError("worker %d is not one of %d", j.Worker, j.Workers)
	case j.Iteration == "":
		return protocolError("JOIN without an iteration")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errEngineEnds
	}
	if s.part != nil && !s.part.isOver() {
		return protocolError("JOIN before the END of the iteration before")
	}
	p := &part{join: j, consumer: c, seat: s}
	if err := s.group.session(j.Rank).take(p); err != nil {
		return s.engine.phrased(err)
	}
	s.part = p
	return nil
}

// leave ends the connection's part of its iteration; the consumer is told the end exactly once, iteration or not.
func (s *seat) leave(c consumer) {
	s.mu.Lock()
	p := s.part
	s.mu.Unlock()
	if p == nil || !p.leave() {
		c.end(End{Left: true})
	}
}

// close is called when the connection is gone. It waits until nobody calls the consumer any more, nor its allocator.
func (s *seat) close() {
	s.mu.Lock()
	p, again := s.part, s.closed
	s.closed = true
	s.mu.Unlock()
	if again {
		return
	}
	if p != nil {
		p.die()
	}
	s.group.leave()
	s.engine.agreed.stand(s.hello.Job)
}

// setEpoch tells the epoch of the next iteration.
func (s *seat) setEpoch(e SetEpoch) (Session, error) {
	if e.Epoch < 0 {
		return Session{}, valueError("epoch %d is below 0", e.Epoch)
	}
	return s.group.session(e.Rank).setEpoch(e), nil
}

// ask tells where the session of a rank stands.
func (s *seat) ask(a Ask) (Session, error) {
	a.WorldSize = max(1, a.WorldSize)
	if a.Rank < 0 || a.Rank >= a.WorldSize {
		return Session{}, valueError("rank %d is not one of a world of %d", a.Rank, a.WorldSize)
	}
	session, err := s.group.session(a.Rank).ask(a)
	if err != nil {
		return session, s.engine.phrased(err)
	}
	return session, nil
}

// who names a connection in messages.
func (s *seat) who() string { return fmt.Sprintf("process %d", s.hello.PID) }
