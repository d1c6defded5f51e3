package wait

import (
	"math"
	"slices"
	"sync"
	"time"
)

// mostMarks bounds the pieces of a trail.
const mostMarks = 64

// A Mark ends a piece of time that had one cause.
type Mark struct {
	End   int64 // as by Now
	Cause Cause
}

// A Trail is the causes that held something up, one after another. A piece reaches from the end of
// the one before to its own; the first has no start. The last piece may still be open, with the
// cause of the piece before unless Next or Follow gives it another.
//
// The zero Trail is empty, and so is a nil one, to which nothing can be added. It is safe for
// concurrent use.
type Trail struct {
	mu    sync.Mutex
	marks []Mark
	few   [6]Mark // the memory of the first ones
	now   Cause   // of the open piece
	of    *Trail  // has the causes of the open piece; nil: now
}

// Until adds a piece that ends at t.
func (r *Trail) Until(t int64, c Cause) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now, r.of = c, nil
	r.untilLocked(t, c)
}

func (r *Trail) untilLocked(t int64, c Cause) {
	n := len(r.marks)
	if n > 0 {
		last := &r.marks[n-1]
		if t <= last.End {
			return
		}
		if last.Cause == c {
			last.End = t
			return
		}
	}
	switch {
	case r.marks == nil:
		r.marks = r.few[:0]
	case n == mostMarks:
		r.joinLocked()
	}
	r.marks = append(r.marks, Mark{t, c})
}

// Next gives the open piece a cause.
func (r *Trail) Next(c Cause) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now, r.of = c, nil
}

// Follow gives the open piece the causes of a trail that this one waits for.
func (r *Trail) Follow(of *Trail) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of = of
}

// joinLocked makes room for a piece: the shortest one becomes part of the next.
func (r *Trail) joinLocked() {
	least := 1
	for i := 2; i < len(r.marks)-1; i++ {
		if r.long(i) < r.long(least) {
			least = i
		}
	}
	r.marks = append(r.marks[:least], r.marks[least+1:]...)
}

func (r *Trail) long(i int) int64 { return r.marks[i].End - r.marks[i-1].End }

// During adds what a trail has between two times, with its open piece: the causes of something that
// this one waited for.
func (r *Trail) During(of *Trail, from, to int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of = nil
	if of != nil {
		r.duringLocked(of, from, to)
	}
}

// duringLocked locks the trail that r waits for after r, as it waits for others in turn.
func (r *Trail) duringLocked(of *Trail, from, to int64) {
	of.mu.Lock()
	defer of.mu.Unlock()
	for _, m := range of.marks {
		if r.now = m.Cause; m.End > from {
			r.untilLocked(min(m.End, to), m.Cause)
		}
		if m.End >= to {
			return
		}
	}
	if of.of != nil {
		r.duringLocked(of.of, endOf(of.marks), to)
		return
	}
	r.now = of.now
	r.untilLocked(to, of.now)
}

// Marks are the pieces that have ended, in order.
func (r *Trail) Marks() []Mark {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.marks)
}

// At returns the pieces up to a time, with what the open one has so far.
func (r *Trail) At(t int64) []Mark {
	if r == nil {
		return nil
	}
	var sum Trail
	sum.During(r, math.MinInt64, t)
	return sum.marks
}

// End is the end of the last mark; 0 of an empty trail.
func (r *Trail) End() int64 {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return endOf(r.marks)
}

func endOf(marks []Mark) int64 {
	if len(marks) == 0 {
		return 0
	}
	return marks[len(marks)-1].End
}

// Reset empties the trail. Its memory is used again.
func (r *Trail) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.marks, r.now, r.of = r.marks[:0], 0, nil
}

// Charge adds the time between two instants to parts, by its causes. Time after the last mark is
// the hand-over.
func (r *Trail) Charge(p *Parts, from, to int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.marks {
		if until := min(m.End, to); until > from {
			p[m.Cause] += time.Duration(until - from)
			from = until
		}
	}
	p[HandOver] += time.Duration(max(0, to-from))
}
