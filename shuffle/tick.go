package shuffle

import "sort"

// Rows of the lane.
func (l *Lane) Rows() int64 { return l.cum[len(l.spans)] }

// Spans returns the number of spans.
func (l *Lane) Spans() int { return len(l.spans) }

// Ticks is E, the number of ticks.
func (l *Lane) Ticks() int64 { return l.ticks }

// Span j.
func (l *Lane) Span(j int) Span {
	s := l.spans[j]
	return Span{Unit: int(s.unit), From: int64(s.lo), To: int64(s.lo) + int64(s.rows)}
}

// Arrival returns the tick by which span j must be loaded.
func (l *Lane) Arrival(j int) int64 { return int64(l.tau[j]) }

// Need returns the lane row by which span j must be loaded: the first row of its arrival tick.
func (l *Lane) Need(j int) int64 { return l.Before(l.Arrival(j)) }

// RowOrder fills dst, grown as needed, with the order in which the rows of span j are emitted:
// dst[s] is the number in the span of the s-th. It is safe for concurrent use.
func (l *Lane) RowOrder(j int, dst []uint32) []uint32 {
	r := l.rowsRNG(j)
	return permutation(&r, dst, int(l.spans[j].rows))
}

// OrderRows puts rows, one for each number in span j, into the order of RowOrder.
func (l *Lane) OrderRows(j int, rows []uint32) {
	r := l.rowsRNG(j)
	shuffle(&r, rows)
}

// rowsRNG returns the random numbers that order the rows of span j.
func (l *Lane) rowsRNG(j int) rng {
	s, p := l.spans[j], l.epoch.plan
	u := p.units.At(int(s.unit))
	return newRNG(domRows, p.seed, l.epoch.number, p.groupID(u.Group), uint64(u.Lo)+uint64(s.lo))
}

// lifeOf span j, in ticks.
func (l *Lane) lifeOf(j int) int64 {
	if j < len(l.life) {
		return int64(l.life[j])
	}
	return l.epoch.plan.params.Life
}

// Emitted is C(j, k): the number of rows of span j emitted by the end of tick k, including any
// emitted before the lane started.
func (l *Lane) Emitted(j int, k int64) int64 {
	return int64(l.spans[j].first) + l.emitted(j, k)
}

// End returns the number of rows of span j emitted by the end of the lane.
func (l *Lane) End(j int) int64 { return int64(l.spans[j].last) }

// emitted returns the number of rows of span j that the lane has emitted by the end of tick k.
func (l *Lane) emitted(j int, k int64) int64 {
	n, life := uint64(l.spans[j].last-l.spans[j].first), l.lifeOf(j)
	age := k - int64(l.tau[j]) // ticks that are over, less one
	switch {
	case age < 0:
		return 0
	case k >= l.ticks-1:
		return int64(n)
	case k <= l.last || int64(l.tau[j])+life-1 <= l.last:
		return drained(n, age+1, life)
	}
	c := uint64(drained(n, l.last-int64(l.tau[j])+1, life))
	return int64(c + (n-c)*uint64(k-l.last)/uint64(l.ticks-1-l.last))
}

// drained returns how many of n rows a life has emitted after x of its ticks: n -
// n*(life-x)^2/life^2.
func drained(n uint64, x, life int64) int64 {
	if x >= life {
		return int64(n)
	}
	rest := uint64(life - x)
	return int64(n - n*rest*rest/uint64(life*life))
}

// Before returns the number of rows that the lane emits in the ticks before k.
func (l *Lane) Before(k int64) int64 {
	if k <= 0 || len(l.spans) == 0 {
		return 0
	}
	if k >= l.ticks {
		return l.Rows()
	}
	done, arrived := l.alive(k - 1)
	n := l.cum[done]
	for j := done; j < arrived; j++ {
		n += l.emitted(j, k-1)
	}
	return n
}

// alive returns the spans [done, arrived) that have arrived by tick k and whose life has not ended.
// Lives end in the order of arrival; a small span may have emitted all its rows before.
func (l *Lane) alive(k int64) (done, arrived int) {
	arrived = sort.Search(len(l.tau), func(j int) bool { return int64(l.tau[j]) > k })
	end := min(k, l.last)
	done = sort.Search(arrived, func(j int) bool { return int64(l.tau[j])+l.lifeOf(j)-1 > end })
	return done, arrived
}

// TickOf returns the tick that emits a lane row, or Ticks if the lane has no such row.
func (l *Lane) TickOf(row int64) int64 {
	return int64(sort.Search(int(l.ticks), func(k int) bool { return l.Before(int64(k)+1) > row }))
}
