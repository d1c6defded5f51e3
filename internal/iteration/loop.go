package iteration

import (
	"errors"
	"io"
	"iter"
	"sync"

	"github.com/shardfeed/shardfeed/shuffle"
)

// A Pass makes the batches of one iteration.
type Pass[B any] interface {
	comparable

	// Next returns the next batch, which is the consumer's then, and the state that resumes after
	// it and all before it; nil leaves the state unchanged. Its error is io.EOF after the last.
	Next() (B, *shuffle.State, error)

	// Leave is Close for the goroutine that calls Next.
	Leave() error

	// Close ends Next, waits for the pass's goroutines and frees all other batches. Any goroutine
	// may call it, any number of times.
	Close() error
}

// A Loop has one pass at a time. It is safe for concurrent use.
type Loop[P Pass[B], B any] struct {
	Closed, Busy error // errors of a pass that starts after Close, or beside another

	mu      sync.Mutex
	pass    P             // that has not ended
	opening chan struct{} // closed when the pass being opened is there or has failed; nil when no pass is being opened
	state   *shuffle.State
	unheard []error // of the ends of passes that the consumer had left
	closed  bool
}

// Batches yields the batches of a pass, which open makes after the loop's state. An error is the
// last element. The pass is closed when the consumer leaves in any way.
func (l *Loop[P, B]) Batches(open func(after *shuffle.State) (P, error)) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		var none B
		p, err := l.start(open)
		if err != nil {
			yield(none, err)
			return
		}
		left := true
		defer func() {
			if err := l.end(p); err != nil && left {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.unheard = append(l.unheard, err)
			}
		}()
		for {
			b, state, err := p.Next()
			if errors.Is(err, io.EOF) {
				left = false
				if err = l.end(p); err == nil {
					return
				}
			}
			if err != nil {
				yield(none, err)
				return
			}
			if state != nil {
				l.Resume(state)
			}
			if !yield(b, nil) {
				return
			}
		}
	}
}

// start opens a pass. It holds no mutex: opening takes long, and the session of an engine may wait
// for Pass with a lock that opening needs.
func (l *Loop[P, B]) start(open func(after *shuffle.State) (P, error)) (p P, err error) {
	after, opened, err := l.claim()
	if err != nil {
		return p, err
	}
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pass, l.opening = p, nil
		close(opened)
	}()
	return open(after)
}

// claim makes this the only caller that opens a pass, until it closes opened.
func (l *Loop[P, B]) claim() (after *shuffle.State, opened chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return nil, nil, l.Closed
	case l.pass != *new(P) || l.opening != nil:
		return nil, nil, l.Busy
	}
	l.opening = make(chan struct{})
	return l.state, l.opening, nil
}

// end closes a pass, any number of times.
func (l *Loop[P, B]) end(p P) error {
	err := p.Leave()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pass == p {
		l.pass = *new(P)
	}
	return err
}

// Pass is the pass that has not ended, or nil: also while one is opened.
func (l *Loop[P, B]) Pass() P {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pass
}

// State resumes after the last batch that was handed out; nil before the first.
func (l *Loop[P, B]) State() *shuffle.State {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == nil {
		return nil
	}
	s := *l.state
	return &s
}

// Resume makes the next pass start after a state, or at the start with nil.
func (l *Loop[P, B]) Resume(state *shuffle.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = state
}

// Close ends the current pass, and prevents others. first is false if it was closed before.
func (l *Loop[P, B]) Close() (first bool, err error) {
	l.mu.Lock()
	opening, first := l.opening, !l.closed
	l.closed = true
	l.mu.Unlock()
	if opening != nil {
		<-opening
	}
	if p := l.Pass(); p != *new(P) {
		err = p.Close()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err = errors.Join(append(l.unheard, err)...)
	l.unheard = nil
	return first, err
}
