package wait

import "time"

// mostMarks bounds the pieces of a trail.
const mostMarks = 64

// A Mark ends a piece of time that had one cause.
type Mark struct {
	End   int64 // as by Now
	Cause Cause
}

// A Trail is the causes that held something up, one after another. A piece reaches from the end of
// the one before to its own; the first has no start.
//
// The zero Trail is empty. It is not safe for concurrent use.
type Trail struct{ marks []Mark }

// Until adds a piece that ends at t.
func (r *Trail) Until(t int64, c Cause) {
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
	if n == mostMarks {
		r.join()
	}
	r.marks = append(r.marks, Mark{t, c})
}

// join makes room for a piece: the shortest one becomes part of the next.
func (r *Trail) join() {
	least := 1
	for i := 2; i < len(r.marks)-1; i++ {
		if r.long(i) < r.long(least) {
			least = i
		}
	}
	r.marks = append(r.marks[:least], r.marks[least+1:]...)
}

func (r *Trail) long(i int) int64 { return r.marks[i].End - r.marks[i-1].End }

// During adds what a trail has between two times: the causes of something that this one waited for.
// Time after the end of that trail has the cause rest.
func (r *Trail) During(of *Trail, from, to int64, rest Cause) {
	for _, m := range of.marks {
		if m.End > from {
			r.Until(min(m.End, to), m.Cause)
		}
		if m.End >= to {
			return
		}
	}
	r.Until(to, rest)
}

// Marks are the pieces, in order. They are valid until the trail changes.
func (r *Trail) Marks() []Mark { return r.marks }

// End is the end of the last piece; 0 of an empty trail.
func (r *Trail) End() int64 {
	if len(r.marks) == 0 {
		return 0
	}
	return r.marks[len(r.marks)-1].End
}

// Reset empties the trail. Its memory is used again.
func (r *Trail) Reset() { r.marks = r.marks[:0] }

// Charge adds the time between two instants to parts, by its causes. Time after the end of the
// trail is the hand-over.
func (r *Trail) Charge(p *Parts, from, to int64) {
	for _, m := range r.marks {
		if until := min(m.End, to); until > from {
			p[m.Cause] += time.Duration(until - from)
			from = until
		}
	}
	p[HandOver] += time.Duration(max(0, to-from))
}
