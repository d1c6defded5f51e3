package ahead

import (
	"context"
	"sync"

	"github.com/shardfeed/shardfeed/internal/mem"
)

// evictable lists the loads of a read-ahead from their admission until the consumer takes them.
// While no goroutine works on a load that is not needed yet, its memory can be evicted for what is
// needed now; it is fetched and decoded again when its turn comes.
type evictable struct {
	mu      sync.Mutex
	busy    map[*Load]bool // whether a goroutine works on it
	changed chan struct{}  // nil: no eviction waits; closed when a load changes
}

// rest lets a load be evicted. The next goroutine that works on it calls work before.
func (e *evictable) rest(l *Load) { e.set(l, false) }

// work keeps a load from being evicted.
func (e *evictable) work(l *Load) { e.set(l, true) }

func (e *evictable) set(l *Load, busy bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.busy == nil {
		e.busy = map[*Load]bool{}
	}
	e.busy[l] = busy
	e.wakeLocked()
}

// leave takes a load off the list.
func (e *evictable) leave(l *Load) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.busy, l)
	e.wakeLocked()
}

func (e *evictable) wakeLocked() {
	if e.changed != nil {
		close(e.changed)
		e.changed = nil
	}
}

// ready hands a load with its blocks to the consumer.
func (e *evictable) ready(l *Load) {
	e.mu.Lock()
	defer e.mu.Unlock()
	close(l.ready)
	if l.number > 0 { // of the schedule
		e.busy[l] = false
		e.wakeLocked()
	}
}

// claim makes a load that is ready the consumer's. Else it returns what to wait for before the next
// call.
func (e *evictable) claim(l *Load) (ready <-chan struct{}, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-l.ready:
		delete(e.busy, l)
		return nil, true
	default:
		return l.ready, false
	}
}

// lastLocked returns the load to evict: the last in the schedule that is not needed yet, loads with
// memory for their blocks first. busy reports whether goroutines work on others.
func (e *evictable) lastLocked(needed int64) (last *Load, busy bool) {
	for l, works := range e.busy {
		switch {
		case l.number <= needed:
		case works:
			busy = true
		case l.charged.Fetch+l.charged.Decode > 0 && (last == nil || l.evictedBefore(last)):
			last = l
		}
	}
	return last, busy
}

func (l *Load) evictedBefore(o *Load) bool {
	if blocks := l.charged.Decode > 0; blocks != (o.charged.Decode > 0) {
		return blocks
	}
	return l.number > o.number
}

// evict takes the memory of a load that is not needed yet, or waits for one that is worked on. It
// returns false if there is neither.
func (r *Reader) evict(ctx context.Context) bool {
	e := &r.evictable
	e.mu.Lock()
	last, busy := e.lastLocked(r.needed.Load())
	if last != nil {
		decoded := r.emptyLocked(last)
		e.mu.Unlock()
		if decoded && !r.parking.park(last) {
			r.fail(last, ErrClosed)
		}
		return true
	}
	if !busy {
		e.mu.Unlock()
		return false
	}
	if e.changed == nil {
		e.changed = make(chan struct{})
	}
	changed := e.changed
	e.mu.Unlock()
	select {
	case <-changed:
		return true
	case <-ctx.Done():
		return false
	}
}

// emptyLocked drops the memory of a load. decoded reports whether it had blocks, so that no
// goroutine has the load any more. Other streams no longer wait for its block.
func (r *Reader) emptyLocked(l *Load) (decoded bool) {
	if l.raw != nil {
		l.raw.Release()
		l.raw = nil
	}
	if decoded = l.blocks != nil; decoded {
		l.ready = make(chan struct{})
		r.dropBlocks(l)
	}
	r.leaveOthers(l)
	r.early.Add(-l.early)
	l.early = 0
	r.adjust(mem.Fetch, &l.charged.Fetch, 0)
	r.adjust(mem.Decode, &l.charged.Decode, 0)
	return decoded
}

// leaveOthers makes a load the stream's own: others that want its rows decode them.
func (r *Reader) leaveOthers(l *Load) {
	if l.owner {
		l.owner = false
		r.Sharing.settle(l.sharedRows(), nil, nil)
	}
	l.Shared = false
}

// refill takes memory for a needed load that was evicted, and fetches it again.
func (r *Reader) refill(ctx context.Context, l *Load) error {
	if l.charged.Decode == 0 {
		if l.refused = r.grant(l); l.refused != nil {
			return l.refused
		}
		l.charged.Decode = l.Estimate.Decode
	}
	if err := r.Account.Grow(mem.Fetch, l.Estimate.Fetch); err != nil {
		return l.Manifest.TooLarge(l.Rows, mem.Refused(err, l.Estimate.Fetch))
	}
	l.charged.Fetch = l.Estimate.Fetch
	return r.fetchLoad(ctx, l)
}
