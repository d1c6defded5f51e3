package iterable

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
)

// admit takes memory for loads, in the order of the schedule: for the bytes of each before it is
// fetched, and later for its blocks before it is decoded. So bytes may be fetched far ahead, and
// blocks are made when there is room for them.
func (r *readahead) admit(ctx context.Context) {
	var admitted []*load // and not granted
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
	l, more := r.schedule.next()
	for n := int64(1); more || len(admitted) > 0; {
		if !more {
			end()
		}
		for len(admitted) > 0 && r.tryGrant(admitted[0]) {
			close(admitted[0].granted)
			admitted = admitted[1:]
		}
		if more && r.tryAdmit(l, n) {
			l.begun, l.granted = time.Now(), make(chan struct{})
			admitted = append(admitted, l)
			r.loads <- l // there is room: only admit sends
			r.fetch <- l
			l, more = r.schedule.next()
			n++
			continue
		}
		select {
		case <-r.changed:
		case <-ctx.Done():
			return
		}
	}
}

// tryAdmit takes memory for the bytes of the n-th load when there is room for one more on its way,
// or when the consumer needs it.
func (r *readahead) tryAdmit(l *load, n int64) bool {
	switch {
	case len(r.loads) == cap(r.loads) || len(r.fetch) == cap(r.fetch):
		return false
	case n <= r.needed.Load():
		r.account.Charge(mem.Fetch, l.est.fetch)
	case !r.throttle.room() || !r.account.TryAcquire(mem.Fetch, l.est.fetch):
		return false
	}
	l.number, l.charged.fetch = n, l.est.fetch
	r.throttle.start(l)
	r.evictable.rest(l)
	return true
}

// tryGrant takes memory for the blocks of a load, no more than was reserved for what is on its way:
// room that the shuffle buffer does not use yet would fill with blocks that only wait.
func (r *readahead) tryGrant(l *load) bool {
	early, bytes := r.early.Load(), r.exceeded.of(l.est.decode)
	switch {
	case l.number <= r.needed.Load():
		bytes = l.est.decode
		l.refused = r.grant(l)
	case r.most > 0 && early > 0 && early+bytes > r.most || !r.account.TryAcquire(mem.Decode, bytes):
		return false
	}
	if l.refused == nil {
		r.evictable.mu.Lock()
		defer r.evictable.mu.Unlock()
		l.charged.decode, l.early = bytes, bytes
		r.early.Add(l.early)
	}
	return true
}

// grant takes memory for the blocks of a load that is needed. The bound has it, unless blocks in
// the shuffle buffer are larger than predicted.
func (r *readahead) grant(l *load) error {
	if err := r.account.Grow(mem.Decode, l.est.decode); err != nil {
		return l.manifest.TooLarge(l.rows, mem.Refused(err, l.est.decode))
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
func (e *excess) learn(l *load) {
	beyond := l.charged.decode - l.est.decode
	if beyond <= 0 || l.est.decode == 0 {
		return
	}
	times := min(mem.MulDiv(beyond, 1<<10, l.est.decode), mostExcess)
	for old := e.times.Load(); times > old && !e.times.CompareAndSwap(old, times); old = e.times.Load() {
	}
}

// taken reports that the consumer has a load's blocks, or that they do not come.
func (r *readahead) taken(l *load) {
	r.evictable.leave(l)
	r.parking.leave(l)
	if l.early > 0 {
		r.early.Add(-l.early)
		l.early = 0
		r.lookAgain()
	}
}

// discharge frees what the account counts for a load that is on its way.
func (r *readahead) discharge(l *load) {
	r.taken(l)
	r.adjust(mem.Fetch, &l.charged.fetch, 0)
	r.adjust(mem.Decode, &l.charged.decode, 0)
	r.lookAgain()
}

// lookAgain wakes admit: room was made, a load ended, or the consumer needs one. What comes while
// admit is busy is seen at its next wait.
func (r *readahead) lookAgain() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// want reports that the consumer waits for the n-th load. Only the consumer calls it.
func (r *readahead) want(n int64) {
	if n > r.needed.Load() {
		r.needed.Store(n)
		r.lookAgain()
		r.parking.look()
	}
}

// lentInRow is after how many loads in a row that were lent a stream reads as from a disk.
const lentInRow = 8

// A throttle bounds the loads that are admitted and not ready: to what hides a network's latency as
// long as loads come over one, and to a disk's few when they are lent, as local files and what a
// cache holds are. What is lent early is cold when it is decoded.
type throttle struct {
	narrow, wide int64

	loads atomic.Int64
	lent  atomic.Int64 // loads in a row
}

// begin assumes local shards until the first load arrives.
func (t *throttle) begin(fetchers, decoders int) {
	t.narrow, t.wide = int64(min(fetchers, localFetchers)+decoders), int64(fetchers+decoders)
	t.lent.Store(lentInRow)
}

// room reports whether one more load may start.
func (t *throttle) room() bool {
	if t.lent.Load() >= lentInRow {
		return t.loads.Load() < t.narrow
	}
	return t.loads.Load() < t.wide
}

// start counts a load, until it lands.
func (t *throttle) start(l *load) {
	t.loads.Add(1)
	l.flying = true
}

// land ends the count of a load that started.
func (t *throttle) land(l *load) {
	if l.flying {
		t.loads.Add(-1)
		l.flying = false
	}
}

// learn notes for each load whether all its bytes were lent.
func (t *throttle) learn(lent bool) {
	if lent {
		t.lent.Add(1)
	} else {
		t.lent.Store(0)
	}
}
