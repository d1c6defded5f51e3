package shuffle

import (
	"cmp"
	"slices"
)

// rest divides the rows that remain of an epoch after each lane has emitted done rows, by slot,
// among the lanes again: the remaining rows of each span, in the order of the line, so that the
// lane at each slot gets rows of them.
func (e *Epoch) rest(done, rows []int64) *Epoch {
	var left []span
	for slot, n := range done {
		left = append(left, e.Lane(slot).left(n)...)
	}
	place := invert32(e.shards)
	slices.SortFunc(left, func(a, b span) int {
		return cmp.Or(cmp.Compare(place[e.plan.shardOf(a)], place[e.plan.shardOf(b)]), cmp.Compare(a.unit, b.unit), cmp.Compare(a.lo, b.lo),
			cmp.Compare(a.first, b.first))
	})
	r := &Epoch{plan: e.plan, number: e.number, offset: e.offset, shards: e.shards, rows: rows, rests: e.rests + 1}
	for line := range rows {
		var lane []span
		lane, left = cutSpans(left, rows[e.plan.slotOf[line]])
		r.lines = append(r.lines, lane)
	}
	return r
}

// left returns the spans of a lane without its first row rows.
func (l *Lane) left(row int64) (spans []span) {
	if len(l.spans) == 0 {
		return nil
	}
	spans = slices.Clone(l.spans)
	tick := l.TickOf(row)
	for j := range spans {
		spans[j].first = uint32(l.Emitted(j, tick-1))
	}
	if part := row - l.Before(tick); part > 0 {
		it, t := l.Iter(), Tick{}
		it.SeekRow(row - part)
		it.Next(&t)
		for _, p := range t.Picks[:part] {
			spans[p.Span].first = p.Seq + 1
		}
	}
	return slices.DeleteFunc(spans, func(s span) bool { return s.first == s.last })
}

// cutSpans splits spans after the given number of their remaining rows. It changes them.
func cutSpans(all []span, rows int64) (lane, rest []span) {
	for len(all) > 0 && rows > 0 {
		s := all[0]
		n := int64(s.last - s.first)
		if n > rows {
			s.last = s.first + uint32(rows)
			all[0].first = s.last
			return append(lane, s), all
		}
		lane, all, rows = append(lane, s), all[1:], rows-n
	}
	return lane, all
}

func invert32(a []uint32) []uint32 {
	b := make([]uint32, len(a))
	for i, v := range a {
		b[v] = uint32(i)
	}
	return b
}
