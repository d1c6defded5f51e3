package iterable

import (
	"context"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
)

// A bell wakes the one goroutine that waits for it. What rings while that one is busy is heard at
// its next wait.
type bell chan struct{}

func newBell() bell { return make(bell, 1) }

func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// wait returns at the next ring; false when ctx ends.
func (b bell) wait(ctx context.Context) bool {
	select {
	case <-b:
		return true
	case <-ctx.Done():
		return false
	}
}

// admit takes memory for the bytes of loads and passes them on, in the order of the schedule.
func (r *readahead) admit(ctx context.Context) {
	for n := int64(1); ; n++ {
		l, ok := r.schedule.next()
		if !ok {
			return
		}
		l.number, l.granted = n, make(chan struct{})
		for !r.tryAdmit(l) {
			if !r.started.wait(ctx) {
				return
			}
		}
		r.flight.start(l)
		l.begun = time.Now()
		if !r.pass(ctx, l) {
			return
		}
	}
}

// tryAdmit takes memory for a load's bytes when there is room for one more on its way, or when the
// consumer needs it.
func (r *readahead) tryAdmit(l *load) bool {
	switch {
	case l.number <= r.needed.Load():
		r.account.Charge(mem.Fetch, l.est.fetch)
	case !r.flight.room() || !r.account.TryAcquire(mem.Fetch, l.est.fetch):
		return false
	}
	l.charged.fetch = l.est.fetch
	return true
}

// pass hands a load to the consumer, to the goroutine that grants, and to one that fetches; false
// when ctx ends.
func (r *readahead) pass(ctx context.Context, l *load) bool {
	select {
	case r.loads <- l:
	case <-ctx.Done():
		r.flight.land(l)
		r.discharge(l)
		return false
	}
	select {
	case r.grants <- l:
	case <-ctx.Done():
		r.fail(l, ctx.Err())
		return false
	}
	select {
	case r.fetch <- l:
		return true
	case <-ctx.Done():
		<-l.granted
		r.fail(l, ctx.Err())
		return false
	}
}

// grant takes memory for the blocks of loads, in the order of the schedule: bytes may be fetched
// far ahead, blocks are made when there is room for them, and no more of them than was reserved for
// what is on its way: room that the shuffle buffer does not use yet would fill with blocks that
// only wait. Each load that it gets is granted, with nothing when ctx ends.
func (r *readahead) grant(ctx context.Context) {
	for l := range r.grants {
		for !r.tryGrant(l) && r.granted.wait(ctx) {
		}
		close(l.granted)
	}
}

func (r *readahead) tryGrant(l *load) bool {
	early := r.early.Load()
	switch {
	case l.number <= r.needed.Load():
		r.account.Charge(mem.Decode, l.est.decode)
	case r.most > 0 && early > 0 && early+l.est.decode > r.most || !r.account.TryAcquire(mem.Decode, l.est.decode):
		return false
	}
	l.charged.decode, l.early = l.est.decode, l.est.decode
	r.early.Add(l.early)
	return true
}

// taken says that a load's blocks are the consumer's, or are not to come.
func (r *readahead) taken(l *load) {
	if l.early > 0 {
		r.early.Add(-l.early)
		l.early = 0
		r.granted.ring()
	}
}

// discharge gives back what the account counts for a load that is on its way.
func (r *readahead) discharge(l *load) {
	r.taken(l)
	r.account.Release(mem.Fetch, l.charged.fetch)
	r.account.Release(mem.Decode, l.charged.decode)
	l.charged = estimate{}
	r.roomMade()
}

// roomMade tells the goroutines that wait for room to look again.
func (r *readahead) roomMade() {
	r.started.ring()
	r.granted.ring()
}

// want tells them that the consumer waits for the n-th load. Only the consumer calls it.
func (r *readahead) want(n int64) {
	if n > r.needed.Load() {
		r.needed.Store(n)
		r.roomMade()
	}
}
