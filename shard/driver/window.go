package driver

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/internal/cause"
)

// A Window holds the request tokens of one process for one endpoint: how many requests may be in
// flight at once. The number follows what the server can take (AIMD, as TCP has it): it halves when
// the server asks to slow down and grows by one when a whole window of requests went well. Tokens
// are given out in the order in which they were asked for. Memory for what a request brings is
// taken before its token.
//
// The methods are safe for concurrent use.
type Window struct {
	least, most int
	now         func() time.Time

	mu      sync.Mutex
	size    int // tokens there are, unless the server takes fewer requests
	left    int // requests that the server takes, if limited
	limited bool
	out     int       // tokens given out; more than size for a while after Slow
	good    int       // requests that went well since size changed
	slowed  time.Time // when size was last halved
	waiting list.List // of chan struct{}, which is closed with a token; the first comes next
}

// slowEvery is the time within which many answers that ask to slow down count as one.
const slowEvery = time.Second

// NewWindow returns a window of start tokens that stays between least and most. Contradicting
// numbers are adjusted: there is always at least one token.
func NewWindow(least, start, most int) *Window {
	least = max(least, 1)
	most = max(most, least)
	return &Window{least: least, most: most, size: min(max(start, least), most), now: time.Now}
}

// Acquire waits for a token; pass it to Release after use. It returns the cause if ctx ends first.
func (w *Window) Acquire(ctx context.Context) error {
	if ctx.Err() != nil {
		return cause.Of(ctx)
	}
	w.mu.Lock()
	if w.out < w.width() && w.waiting.Len() == 0 {
		w.out++
		w.mu.Unlock()
		return nil
	}
	ready := make(chan struct{})
	place := w.waiting.PushBack(ready)
	w.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		w.leave(ready, place)
		return cause.Of(ctx)
	}
}

// leave takes a waiter out of the queue, or its token back when it was given one at the same time.
func (w *Window) leave(ready chan struct{}, place *list.Element) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-ready:
		w.out--
	default:
		w.waiting.Remove(place)
	}
	w.wake()
}

// Release gives a token back.
func (w *Window) Release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.out--; w.out < 0 {
		panic("driver: more tokens came back than were given out")
	}
	w.wake()
}

func (w *Window) wake() {
	for w.out < w.width() && w.waiting.Len() > 0 {
		w.out++
		close(w.waiting.Remove(w.waiting.Front()).(chan struct{}))
	}
}

// width is how many tokens may be out.
func (w *Window) width() int {
	if w.limited {
		return min(w.size, max(w.left, w.least))
	}
	return w.size
}

// Left reports how many requests the server takes before it refuses some: the window is not wider
// until the next report, and at least its least.
func (w *Window) Left(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left, w.limited = n, true
	w.wake()
}

// Slow reports that the server asked to slow down: the window halves, once a second at most and not
// below its least.
func (w *Window) Slow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.good = 0
	now := w.now()
	if !w.slowed.IsZero() && now.Sub(w.slowed) < slowEvery {
		return
	}
	w.slowed = now
	w.size = max(w.size/2, w.least)
}

// Done reports that a request succeeded: after as many successes as its width, the window grows by
// one.
func (w *Window) Done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.good++; w.good < w.size {
		return
	}
	w.good = 0
	w.size = min(w.size+1, w.most)
	w.wake()
}

// Size is how many requests may be in flight now.
func (w *Window) Size() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.width()
}
