package engine

import (
	"math/bits"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
)

// lostTime is after what time a ring looks for releases that it should have heard of. Python has no
// memory barriers: a trainer may read that its release is not wanted just when the engine sets the
// flag, and before the engine sees the release.
const lostTime = 20 * time.Millisecond

// A watch detects releases while a ring waits for a slot. The ring's lock guards it.
type watch struct {
	waiting bool        // Begin waits
	asked   uint64      // readers whose flag is set in the newest generation, a bit for each
	timer   *time.Timer // nil: it was never needed
	running bool
	recent  bool // a flag was set since the timer was started
}

func (w *watch) start(f func()) {
	if w.timer == nil {
		w.timer = time.AfterFunc(lostTime, f)
	} else if !w.running {
		w.timer.Reset(lostTime)
	}
	w.running = true
}

func (w *watch) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// collect takes back the slots that trainers have released, and wakes Begin if a slot is free. A
// trainer has reported a release.
func (r *ring) collect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if !r.watch.waiting {
		r.collectLocked()
		return
	}
	r.unaskLocked() // others may have what is waited for now
	if r.isFreeLocked() {
		r.wake()
	}
}

// isFreeLocked reports whether a slot is free. If not, the ring hears of the next release.
func (r *ring) isFreeLocked() bool {
	r.collectLocked()
	for r.used >= r.open {
		if r.makingLocked() == 0 {
			if r.stopped = true; r.openMoreLocked() {
				return true
			}
		}
		if !r.askLocked() {
			return false
		}
		r.collectLocked() // releases before the flags were set
	}
	return true
}

// collectLocked takes back the slots that all their readers have released.
func (r *ring) collectLocked() {
	for _, g := range r.all {
		for slot, held := range g.held {
			if held != 0 {
				r.collectSlotLocked(g, uint32(slot))
			}
		}
	}
}

func (r *ring) collectSlotLocked(g *generation, slot uint32) {
	seq := g.seqs[slot]
	for held := g.held[slot]; held != 0; held &= held - 1 {
		reader := bits.TrailingZeros64(held)
		switch word := g.released(reader, slot).Load(); {
		case word == seq:
			g.held[slot] &^= 1 << reader
		case word > seq:
			if end := r.breach[reader]; end != nil {
				end(wire.ProtocolError("slot %d of generation %d was released with batch %d, and has batch %d", slot, g.number, word, seq))
			}
		}
	}
	if g.held[slot] == 0 {
		r.giveLocked(g, slot)
		r.used--
	}
}

// askLocked sets the flags of readers so that one of each slot is asked: the one that has the most
// slots, as it is the slowest. It reports whether it set any.
func (r *ring) askLocked() (any bool) {
	var slots [maxReplicas]int
	for _, held := range r.newest.held {
		for ; held != 0; held &= held - 1 {
			slots[bits.TrailingZeros64(held)]++
		}
	}
	for _, held := range r.newest.held {
		if held == 0 || held&r.watch.asked != 0 {
			continue
		}
		slowest := bits.TrailingZeros64(held)
		for ; held != 0; held &= held - 1 {
			if reader := bits.TrailingZeros64(held); slots[reader] > slots[slowest] {
				slowest = reader
			}
		}
		r.watch.asked |= 1 << slowest
		r.newest.wanted(slowest).Store(1)
		any = true
	}
	if any {
		r.lookLaterLocked()
	}
	return any
}

// askAllLocked sets the flags of a generation that is not the newest any more, which goes with the
// last release of its slots.
func (r *ring) askAllLocked(g *generation) {
	for reader := range r.breach {
		g.wanted(reader).Store(1)
	}
	r.watch.asked = 0
	r.lookLaterLocked()
}

func (r *ring) unaskLocked() {
	for ; r.watch.asked != 0; r.watch.asked &= r.watch.asked - 1 {
		r.newest.wanted(bits.TrailingZeros64(r.watch.asked)).Store(0)
	}
}

// unwatch is called when Begin stops waiting.
func (r *ring) unwatch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.unwatchLocked()
	}
}

func (r *ring) unwatchLocked() {
	r.watch.waiting = false
	r.unaskLocked()
}

func (r *ring) lookLaterLocked() {
	r.watch.recent = true
	r.watch.start(r.look)
}

// look finds releases that the ring did not hear of. It looks once at the earliest, and twice at
// the latest, after a flag was set: a ring that waits for long takes no processor.
func (r *ring) look() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watch.running = false
	if r.closed {
		return
	}
	if r.watch.recent {
		r.watch.recent = false
		r.watch.start(r.look)
	}
	if !r.watch.waiting {
		r.collectLocked()
	} else if r.isFreeLocked() {
		r.wake()
	}
}

// openMoreLocked opens as many slots again if a trainer waits and has all announced batches: with
// more slots the loader would not have had to stop. It reports whether it did.
func (r *ring) openMoreLocked() bool {
	if r.open >= r.need.slots || r.seq == 0 || r.waitingLocked() == 0 {
		return false
	}
	r.open, r.stopped = min(2*r.open, r.need.slots), false
	return true
}

// makingLocked returns how many batches with a slot are not announced.
func (r *ring) makingLocked() int {
	n := r.used
	for _, g := range r.all {
		for _, held := range g.held {
			if held != 0 {
				n--
			}
		}
	}
	return n
}

// waitingLocked returns the trainers that wait and have all announced batches, a bit for each.
func (r *ring) waitingLocked() (readers uint64) {
	for _, g := range r.all {
		for reader := range r.breach {
			if (!g.single || g.held[0] != 0) && g.waiting(reader).Load() == r.seq {
				readers |= 1 << reader
			}
		}
	}
	return readers
}

// stuck reports whether all trainers wait while each has all announced batches, so that no slot
// will be released.
func (r *ring) stuck() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.collectLocked()
	return r.readers&^r.waitingLocked() == 0
}

// awaits reports whether a trainer waits, and has all announced batches. Before the first batch
// any may wait.
func (r *ring) awaits(reader int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seq == 0 || r.waitingLocked()>>reader&1 == 1
}
