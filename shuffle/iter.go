package shuffle

// Pick is one emitted row: the Seq-th row that span Span of the lane emits. Its row in the file is
// RowOrder(Span)[Seq].
type Pick struct {
	Span uint32
	Seq  uint32
}

// Tick is the work of a lane in one tick. Iter.Next reuses the slices of the Tick it is given.
type Tick struct {
	Index    int64
	Row      int64    // lane row of the first pick
	Load     []uint32 // spans that must be there from this tick on and were not needed before, ascending
	Picks    []Pick   // in the order of emission
	Finished []uint32 // spans whose last row is among the picks, ascending: their memory is free after them
}

// Iter walks the ticks of a lane. It is not safe for concurrent use; any number of them may walk
// one lane.
type Iter struct {
	lane   *Lane
	tick   int64
	row    int64    // of the tick's first pick
	skip   int64    // picks of the first tick after SeekRow that are not wanted
	next   int      // next span to arrive
	active []uint32 // spans that arrived and are not empty yet, ascending
	out    []uint32 // rows that they have emitted
	fresh  int      // spans at the front of active that were not reported in a Load yet
}

// Iter starts at the lane's first row.
func (l *Lane) Iter() *Iter { return &Iter{lane: l} }

// SeekRow goes to a lane row. Spans that are finished there are never touched again; the others
// come in the next tick's Load.
func (it *Iter) SeekRow(row int64) {
	l := it.lane
	*it = Iter{lane: l, active: it.active[:0], out: it.out[:0], tick: l.TickOf(row)}
	it.row = l.Before(it.tick)
	it.skip = row - it.row
	done := 0
	if it.tick > 0 {
		done, it.next = l.alive(it.tick - 1)
	}
	for j := done; j < it.next; j++ {
		if c := l.Emitted(j, it.tick-1); c < int64(l.spans[j].last) {
			it.active = append(it.active, uint32(j))
			it.out = append(it.out, uint32(c))
		}
	}
	it.fresh = len(it.active)
}

// Opening returns the first tick of an Iter that goes to a lane row, and its Load; no spans if the
// lane is over there. It draws rows only where the row is inside a tick.
func (l *Lane) Opening(row int64) (tick int64, load []uint32) {
	var t Tick
	it := l.Iter()
	it.SeekRow(row)
	if it.skip > 0 {
		it.Next(&t)
		return t.Index, t.Load
	}
	for ; it.tick < l.ticks && len(t.Load) == 0; it.tick++ {
		it.arrive(&t)
	}
	return it.tick - 1, t.Load
}

// Next fills t with the next tick that emits a row or makes a span arrive; false when the lane is
// over.
func (it *Iter) Next(t *Tick) bool {
	t.Load, t.Picks, t.Finished = t.Load[:0], t.Picks[:0], t.Finished[:0]
	for ; it.tick < it.lane.ticks; it.tick++ {
		it.arrive(t)
		it.emit(t)
		it.leave(t)
		if len(t.Picks) == 0 && len(t.Load) == 0 {
			continue
		}
		t.Index, t.Row = it.tick, it.row
		it.row += int64(len(t.Picks))
		it.tick++
		if it.skip > 0 {
			it.drop(t)
		}
		return true
	}
	return false
}

// arrive admits the spans of this tick.
func (it *Iter) arrive(t *Tick) {
	t.Load = append(t.Load, it.active[:it.fresh]...)
	it.fresh = 0
	for it.next < len(it.lane.spans) && int64(it.lane.tau[it.next]) == it.tick {
		t.Load = append(t.Load, uint32(it.next))
		it.active = append(it.active, uint32(it.next))
		it.out = append(it.out, it.lane.spans[it.next].first)
		it.next++
	}
}

// emit draws from which spans the tick's rows come, and gives each the next row of its span.
func (it *Iter) emit(t *Tick) {
	l := it.lane
	count := func(i int) int { return int(l.Emitted(int(it.active[i]), it.tick)) - int(it.out[i]) }
	rows := 0
	for i := range it.active {
		rows += count(i)
	}
	if rows == 0 {
		return
	}
	if rows > cap(t.Picks) { // a tick can be large, and appending would leave several of its size behind
		t.Picks = make([]Pick, 0, rows)
	}
	for i := range it.active {
		for range count(i) {
			t.Picks = append(t.Picks, Pick{Span: uint32(i)}) // among the active ones
		}
	}
	e := l.epoch
	r := newRNG(domTick, e.plan.seed, e.number, uint64(l.line), uint64(it.tick))
	if e.rests > 0 {
		r = newRNG(domTick, e.plan.seed, e.number, uint64(l.line), uint64(it.tick), e.rests)
	}
	shuffle(&r, t.Picks)
	for k := range t.Picks {
		i := t.Picks[k].Span
		t.Picks[k] = Pick{Span: it.active[i], Seq: it.out[i]}
		it.out[i]++
	}
}

// leave drops the spans that are empty after the tick.
func (it *Iter) leave(t *Tick) {
	kept := 0
	for i, j := range it.active {
		if it.out[i] == it.lane.spans[j].last {
			t.Finished = append(t.Finished, j)
			continue
		}
		it.active[kept], it.out[kept] = j, it.out[i]
		kept++
	}
	it.active, it.out = it.active[:kept], it.out[:kept]
}

// drop leaves out the picks before the row that was sought, and the spans of which nothing is
// wanted then.
func (it *Iter) drop(t *Tick) {
	t.Row += it.skip
	t.Picks = t.Picks[:copy(t.Picks, t.Picks[it.skip:])]
	it.skip = 0
	wanted := map[uint32]bool{}
	for _, p := range t.Picks {
		wanted[p.Span] = true
	}
	finished := map[uint32]bool{}
	kept := t.Finished[:0]
	for _, j := range t.Finished {
		if wanted[j] {
			kept = append(kept, j)
		} else {
			finished[j] = true
		}
	}
	t.Finished = kept
	load := t.Load[:0]
	for _, j := range t.Load {
		if !finished[j] {
			load = append(load, j)
		}
	}
	t.Load = load
}
