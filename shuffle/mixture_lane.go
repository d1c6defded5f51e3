package shuffle

import "math"

// Never is the lane row of a sample that never comes, because its source's weight is 0 from then
// on.
const Never = math.MaxInt64

// A MixLane maps the rows of a lane to sources. The rows of the lane at a slot are the samples x
// with x mod L = slot, the n-th being x = n*L + slot. The same type describes all samples as a
// single lane and, under PerSource, the steps. Rows count from 0. It is immutable and safe for
// concurrent use.
type MixLane struct {
	parts   []lanePart
	sources int
}

// A lanePart is the shares from a row of the lane on.
type lanePart struct {
	from, end int64
	dealRow
}

// Lane at a slot.
func (m *Mixture) Lane(slot int) *MixLane { return m.each()[slot] }

// makeLanes makes the lane at each slot.
func (m *Mixture) makeLanes() (all []*MixLane) {
	for slot := range m.lanes {
		all = append(all, m.lane(slot, m.lanes, func(x int64) int64 { return x }))
	}
	return all
}

// Steps returns the source of each step, under PerSource.
func (m *Mixture) Steps() *MixLane { return m.all }

// lane has every lanes-th of the numbers that the parts deal: samples, or steps. first is the first
// of them at or after a sample.
func (m *Mixture) lane(slot, lanes int, first func(x int64) int64) *MixLane {
	l := &MixLane{sources: len(m.sources)}
	for i, p := range m.parts {
		from, end := rowsBefore(first(p.from), slot, lanes), int64(Never)
		if i+1 < len(m.parts) {
			end = rowsBefore(first(m.parts[i+1].from), slot, lanes)
		}
		begin := uint64(from*int64(lanes) + int64(slot) - first(p.from))
		l.parts = append(l.parts, lanePart{from: from, end: end, dealRow: p.row(begin, uint64(lanes))})
	}
	return l
}

// Counts fills dst, grown as needed, with the number of rows of each source among the lane's first
// n.
func (l *MixLane) Counts(n int64, dst []int64) []int64 {
	dst = append(dst[:0], make([]int64, l.sources)...)
	for d := range dst {
		dst[d] = l.Count(d, n)
	}
	return dst
}

// Count returns the number of rows of a source among the lane's first n.
func (l *MixLane) Count(source int, n int64) (sum int64) {
	for _, p := range l.parts {
		if n > p.from {
			sum += p.count(source, min(n, p.end)-p.from)
		}
	}
	return sum
}

// Row returns the lane row of the k-th sample of a source, from 0, or [Never].
func (l *MixLane) Row(source int, k int64) int64 {
	for _, p := range l.parts {
		if p.weight(source) == 0 {
			continue
		}
		if p.end < Never {
			if n := p.count(source, p.end-p.from); k >= n {
				k -= n
				continue
			}
		}
		return int64(min(uint64(p.from)+uint64(p.place(source, k)), Never))
	}
	return Never
}

// A MixWalk yields the sources of a lane's rows in order.
type MixWalk struct {
	lane *MixLane
	walk dealWalk
	part int
	row  int64
}

// Walk from a row of the lane on.
func (l *MixLane) Walk(row int64) *MixWalk {
	w := &MixWalk{lane: l, row: row}
	w.enter()
	return w
}

// enter moves to the part that the next row belongs to.
func (w *MixWalk) enter() {
	for w.lane.parts[w.part].end <= w.row {
		w.part++
	}
	p := w.lane.parts[w.part]
	w.walk = p.walk(w.row - p.from)
}

// Row returns the number of the next row.
func (w *MixWalk) Row() int64 { return w.row }

// Next returns the source of the next row.
func (w *MixWalk) Next() int {
	if w.row == w.lane.parts[w.part].end {
		w.enter()
	}
	w.row++
	return w.walk.next()
}
