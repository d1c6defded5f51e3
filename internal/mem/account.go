package mem

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// An Account is a stream's reservation and what is taken of it, by purpose. Decode and Shuffle
// share their room, because a decoded block moves from one to the other; every other purpose keeps
// to its own. It is safe for concurrent use.
type Account struct {
	budget *Budget

	mu       sync.Mutex
	closed   bool
	limit    int64 // of the stream; no limit if 0 or less
	reserved Amounts
	grown    Amounts // of reserved: what Grow and turns have added
	used     Amounts
	peak     Amounts
	most     int64 // of all purposes at one time
	waiters  []*waiter

	elastic  elastic
	evict    func(context.Context) bool // see Evict; may be nil
	evicting int                        // calls that evict: nothing is taken for later meanwhile

	turns     []*Turn       // that are not over, in their order
	unordered bool          // see Unordered
	changed   chan struct{} // nil: no turn waits; closed when bytes or turns go
}

// A waiter is one waiting Acquire. The waiters of one room are served in order of arrival.
type waiter struct {
	purpose Purpose
	n       int64
	ready   chan struct{}
	granted bool
}

// Acquire takes n bytes, waiting for room. It fails when ctx ends, and at once when n can never
// fit.
func (a *Account) Acquire(ctx context.Context, p Purpose, n int64) error {
	a.mu.Lock()
	if _, room := a.roomLocked(p); n > room {
		a.mu.Unlock()
		return fmt.Errorf("%s of %s can never fit in a reservation of %s", Bytes(n), p, Bytes(room))
	}
	if !a.waitingLocked(p) && a.fitsLocked(p, n) {
		a.chargeLocked(p, n)
		a.mu.Unlock()
		return nil
	}
	w := &waiter{purpose: p, n: n, ready: make(chan struct{})}
	a.waiters = append(a.waiters, w)
	a.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if w.granted {
		return nil
	}
	a.waiters = slices.DeleteFunc(a.waiters, func(x *waiter) bool { return x == w })
	a.wakeLocked()
	return ctx.Err()
}

// TryAcquire takes n bytes if they are free now and no other call waits for them.
func (a *Account) TryAcquire(p Purpose, n int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.evicting > 0 || a.waitingLocked(p) || !a.fitsLocked(p, n) || !a.withinLocked(n) {
		return false
	}
	a.chargeLocked(p, n)
	return true
}

// Charge takes n bytes whether or not there is room: for bytes that arithmetic has bounded before,
// and for bytes measured after the fact.
func (a *Account) Charge(p Purpose, n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.chargeLocked(p, n)
}

// Release gives n bytes back.
func (a *Account) Release(p Purpose, n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.used[p] < n {
		panic(fmt.Sprintf("mem: %d bytes of %s released, %d were taken", n, p, a.used[p]))
	}
	a.used[p] -= n
	a.shrinkLocked(p)
	a.wakeLocked()
}

// Move makes n bytes taken for one purpose bytes of another.
func (a *Account) Move(from, to Purpose, n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.used[from] < n {
		panic(fmt.Sprintf("mem: %d bytes of %s moved, %d were taken", n, from, a.used[from]))
	}
	a.used[from] -= n
	a.used[to] += n
	a.peak[to] = max(a.peak[to], a.used[to])
	a.wakeLocked()
}

// Close gives the reservation back to the budget. It may be called twice.
func (a *Account) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.closed = true
		a.budget.close(a, a.reserved.Total())
	}
}

// amounts returns the bytes that are reserved and in use. A closed account has neither.
func (a *Account) amounts() (reserved, used Amounts) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return reserved, used
	}
	return a.reserved, a.used
}

// Reserved is the admitted bytes by purpose.
func (a *Account) Reserved() Amounts {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reserved
}

// Used returns the bytes in use, by purpose.
func (a *Account) Used() Amounts {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used
}

// Peak is the most that each purpose had, and most the most that all had at one time.
func (a *Account) Peak() (by Amounts, most int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.peak, a.most
}

// String is a table of the account: reserved, used and peak by purpose.
func (a *Account) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s %12s %12s %12s\n", "purpose", "reserved", "used", "peak")
	for i := range a.reserved {
		if a.reserved[i] != 0 || a.peak[i] != 0 {
			fmt.Fprintf(&b, "%-8s %12s %12s %12s\n", Purpose(i), Bytes(a.reserved[i]), Bytes(a.used[i]), Bytes(a.peak[i]))
		}
	}
	fmt.Fprintf(&b, "%-8s %12s %12s %12s\n", "sum", Bytes(a.reserved.Total()), Bytes(a.used.Total()), Bytes(a.most))
	return b.String()
}

// roomLocked returns the bytes in use, and the size, of the room for p.
func (a *Account) roomLocked(p Purpose) (used, room int64) {
	if p.room() == Decode {
		return a.used[Decode] + a.used[Shuffle], a.reserved[Decode] + a.reserved[Shuffle]
	}
	return a.used[p], a.reserved[p]
}

func (a *Account) fitsLocked(p Purpose, n int64) bool {
	used, room := a.roomLocked(p)
	return used+n <= room
}

// waitingLocked reports whether an Acquire waits for the room of p.
func (a *Account) waitingLocked(p Purpose) bool {
	return slices.ContainsFunc(a.waiters, func(w *waiter) bool { return w.purpose.room() == p.room() })
}

func (a *Account) chargeLocked(p Purpose, n int64) {
	a.used[p] += n
	a.peak[p] = max(a.peak[p], a.used[p])
	a.most = max(a.most, a.used.Total())
}

// wakeLocked grants waiters in the order in which they came, as far as the room of each goes.
func (a *Account) wakeLocked() {
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
	var full [purposes]bool // by the first purpose of a room
	kept := a.waiters[:0]
	for _, w := range a.waiters {
		room := w.purpose.room()
		if full[room] || !a.fitsLocked(w.purpose, w.n) {
			full[room] = true
			kept = append(kept, w)
			continue
		}
		a.chargeLocked(w.purpose, w.n)
		w.granted = true
		close(w.ready)
	}
	clear(a.waiters[len(kept):])
	a.waiters = kept
}
