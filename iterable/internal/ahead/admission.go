package ahead

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/wait"
)

// admit takes memory for loads, in the order of the schedule: for the bytes of each before it is
// fetched, and later for its blocks before it is decoded. So bytes may be fetched far ahead, and
// blocks are made when there is room for them.
func (r *Reader) admit(ctx context.Context) {
	var admitted []*Load // and not granted
	end := sync.OnceFunc(func() {
		close(r.fetch)
		close(r.loads)
	})
	defer func() {
		end()
		for _, l := range admitted {
			close(l.granted)
		}
	}()
	l, more := r.scheduled()
	for n := int64(1); more || len(admitted) > 0; {
		if !more {
			end()
		}
		for len(admitted) > 0 && r.tryGrant(admitted[0]) {
			close(admitted[0].granted)
			admitted = admitted[1:]
		}
		var ok, short bool
		var beyond <-chan struct{}
		if more {
			beyond, ok, short = r.tryAdmit(l, n)
		}
		if ok {
			l.granted, l.ready = make(chan struct{}), make(chan struct{})
			admitted = append(admitted, l)
			r.loads <- l // there is room: only admit sends
			r.fetch <- l
			l, more = r.scheduled()
			n++
			continue
		}
		var began int64
		if short {
			began = wait.Now()
		}
		select {
		case <-r.changed:
		case <-beyond:
		case <-ctx.Done():
			return
		}
		if short {
			r.counts.add(Counts{Held: time.Duration(wait.Now() - began)})
		}
	}
}

// scheduled returns the next load of the schedule.
func (r *Reader) scheduled() (l *Load, more bool) {
	if l, more = r.Schedule.Next(); more && r.recorder.On() {
		l.began = wait.Now()
	}
	return l, more
}

// tryAdmit takes memory for the bytes of the n-th load when its epoch is within the horizon and
// there is room for one more on its way, or when the consumer needs it. A load of a later epoch
// waits for beyond. short reports that only memory is missing.
func (r *Reader) tryAdmit(l *Load, n int64) (beyond <-chan struct{}, ok, short bool) {
	beyond = r.Horizon.beyond(l.Epoch)
	switch {
	case len(r.loads) == cap(r.loads) || len(r.fetch) == cap(r.fetch):
		return nil, false, false
	case n <= r.needed.Load():
		r.Account.Charge(mem.Fetch, l.Estimate.Fetch)
	case beyond != nil || !r.throttle.room():
		return beyond, false, false
	case !r.Account.TryAcquire(mem.Fetch, l.Estimate.Fetch):
		return nil, false, true
	}
	l.number, l.charged.Fetch = n, l.Estimate.Fetch
	l.trail.Until(wait.Now(), wait.Room)
	l.trail.Next(wait.Storage) // also while it waits for a fetcher: others wait for the store then
	r.throttle.start(l)
	r.evictable.rest(l)
	return nil, true, false
}

// tryGrant takes memory for the blocks of a load, no more than was reserved for what is on its way:
// room that the shuffle buffer does not use yet would fill with blocks that only wait.
func (r *Reader) tryGrant(l *Load) bool {
	early, bytes := r.early.Load(), r.exceeded.of(l.Estimate.Decode)
	switch {
	case l.number <= r.needed.Load():
		bytes = l.Estimate.Decode
		l.refused = r.grant(l)
	case r.Early > 0 && early > 0 && early+bytes > r.Early || !r.Account.TryAcquire(mem.Decode, bytes):
		return false
	}
	if l.refused == nil {
		r.evictable.mu.Lock()
		defer r.evictable.mu.Unlock()
		l.charged.Decode, l.early = bytes, bytes
		r.early.Add(l.early)
	}
	return true
}

// grant takes memory for the blocks of a load that is needed. The bound has it, unless blocks in
// the shuffle buffer are larger than predicted.
func (r *Reader) grant(l *Load) error {
	if err := r.Account.Grow(mem.Decode, l.Estimate.Decode); err != nil {
		return l.Manifest.TooLarge(l.Rows, mem.Refused(err, l.Estimate.Decode))
	}
	return nil
}

// An excess measures how much more memory than predicted decoding takes: the worst of all loads.
// Loads that are decoded early are taken to need as much.
type excess struct{ times atomic.Int64 } // in parts of 1024, beyond 1

const mostExcess = 64 << 10

// of is the memory to take for an estimate.
func (e *excess) of(bytes int64) int64 { return bytes + mem.MulDiv(bytes, e.times.Load(), 1<<10) }

// learn looks at what a load that is decoded has taken.
func (e *excess) learn(l *Load) {
	beyond := l.charged.Decode - l.Estimate.Decode
	if beyond <= 0 || l.Estimate.Decode == 0 {
		return
	}
	times := min(mem.MulDiv(beyond, 1<<10, l.Estimate.Decode), mostExcess)
	for old := e.times.Load(); times > old && !e.times.CompareAndSwap(old, times); old = e.times.Load() {
	}
}

// taken reports that the consumer has a load's blocks, or that they do not come.
func (r *Reader) taken(l *Load) {
	r.evictable.leave(l)
	r.parking.leave(l)
	if l.early > 0 {
		r.early.Add(-l.early)
		l.early = 0
		r.lookAgain()
	}
}

// discharge frees what the account counts for a load that is on its way.
func (r *Reader) discharge(l *Load) {
	r.taken(l)
	r.adjust(mem.Fetch, &l.charged.Fetch, 0)
	r.adjust(mem.Decode, &l.charged.Decode, 0)
	r.lookAgain()
}

// lookAgain wakes admit: room was made, a load ended, or the consumer needs one. What comes while
// admit is busy is seen at its next wait.
func (r *Reader) lookAgain() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}
