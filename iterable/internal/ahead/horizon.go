package ahead

import "sync"

// A Horizon bounds the epochs that a stream reads ahead of its consumer's. It is safe for concurrent
// use. A nil Horizon has no bound.
type Horizon struct {
	mu    sync.Mutex
	last  uint64
	moved chan struct{} // closed when last grows
}

// NewHorizon returns a Horizon with a last epoch.
func NewHorizon(last uint64) *Horizon { return &Horizon{last: last, moved: make(chan struct{})} }

// Move makes a later epoch the last one.
func (h *Horizon) Move(last uint64) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if last > h.last {
		h.last = last
		close(h.moved)
		h.moved = make(chan struct{})
	}
}

// beyond returns nil if an epoch is within the horizon, else a channel that is closed when the
// horizon moves.
func (h *Horizon) beyond(epoch uint64) <-chan struct{} {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if epoch <= h.last {
		return nil
	}
	return h.moved
}
