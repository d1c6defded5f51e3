package iterable

import (
	"cmp"
	"slices"

	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/iterable/internal/minheap"
	"github.com/shardfeed/shardfeed/shuffle"
)

// laneSchedule merges the spans of the stream's lanes by the position at which each must be there.
type laneSchedule struct {
	epochs *laneEpochs
	sizes  *sizes

	epoch uint64 // the next to begin
	last  uint64 // that had loads, or the first
	now   *laneEpoch
	feeds *minheap.Heap[*feed] // by need
	cut   map[int][]sibling    // units that lanes of this stream cut, by ascending row
	tick  shuffle.Tick         // scratch of lookAhead
}

// A feed is one lane of the schedule.
type feed struct {
	lane   *shuffle.Lane
	slot   int
	start  int64   // the row at which the stream starts
	first  []early // what is left of the spans that are there from that row on, by the row of each
	sorted bool    // first is in that order: its first row is the start
	span   int     // the next span that arrives later
	need   int64   // position at which the next of both must be there

	taken map[int]bool // spans that went along with a sibling
}

// An early is a span that is in the buffer when the stream starts. There are as many as the shuffle
// buffer holds, and the first steps have rows of a few.
type early struct {
	span int
	row  int64 // of the lane, up to which none of the span's rows leave
}

// A sibling is a span that holds part of a unit.
type sibling struct {
	feed *feed
	span int
	shuffle.Span
	need int64
}

func newLaneSchedule(e *laneEpochs, s *sizes) *laneSchedule {
	first := func(a, b *feed) bool { return a.need < b.need || a.need == b.need && a.slot < b.slot }
	return &laneSchedule{epochs: e, sizes: s, epoch: e.start.epoch, last: e.start.epoch, feeds: minheap.New(first)}
}

func (s *laneSchedule) Next() (*ahead.Load, bool) {
	for {
		for s.feeds.Len() > 0 {
			f := s.feeds.First()
			j := f.pop(&s.tick)
			taken := f.taken[j]
			var l *ahead.Load
			if !taken {
				l = s.load(f, j)
			}
			if f.settle(s.now) {
				s.feeds.Fix()
			} else {
				s.feeds.Pop()
			}
			if !taken {
				return l, true
			}
		}
		if s.epochs.over(s.epoch) || s.epochs.of == nil && s.epochs.start.ends(s.epoch, s.last) {
			return nil, false
		}
		s.begin()
	}
}

// begin sets up the feeds of the next epoch.
func (s *laneSchedule) begin() {
	s.now = s.epochs.at(s.epoch)
	s.epoch++
	s.tick = shuffle.Tick{}
	for _, slot := range s.now.slots {
		f := newFeed(s.now, slot)
		if f.settle(s.now) {
			s.feeds.Push(f)
		}
	}
	if s.feeds.Len() > 0 {
		s.last = s.now.Number()
	}
	s.cut = s.siblings()
}

// newFeed is the feed of a lane.
func newFeed(e *laneEpoch, slot int) *feed {
	f := &feed{lane: e.lanes[slot], slot: slot, start: e.begins(slot)}
	tick, spans := f.lane.Opening(f.start)
	for f.span < f.lane.Spans() && f.lane.Arrival(f.span) <= tick {
		f.span++
	}
	for _, j := range spans {
		f.first = append(f.first, early{span: int(j), row: f.start})
	}
	return f
}

// lookAhead puts the spans of first into the order in which their first rows leave, by a look at as
// many rows as there are spans. Which of the others comes first matters little by then.
func (f *feed) lookAhead(t *shuffle.Tick) {
	it := f.lane.Iter()
	it.SeekRow(f.start)
	rows := make(map[int]int64, len(f.first)) // by span
	end := f.start
	for end-f.start < int64(len(f.first)) && it.Next(t) {
		for i, p := range t.Picks {
			if _, ok := rows[int(p.Span)]; !ok {
				rows[int(p.Span)] = t.Row + int64(i)
			}
		}
		end = t.Row + int64(len(t.Picks))
	}
	for i, x := range f.first {
		row, ok := rows[x.span]
		if !ok {
			row = end
		}
		f.first[i].row = row
	}
	slices.SortStableFunc(f.first, func(a, b early) int { return cmp.Compare(a.row, b.row) })
	f.sorted = true
}

// pop takes the next span. t is scratch.
func (f *feed) pop(t *shuffle.Tick) int {
	if f.isEarly() {
		if !f.sorted {
			f.lookAhead(t)
		}
		j := f.first[0].span
		f.first = f.first[1:]
		return j
	}
	f.span++
	return f.span - 1
}

// isEarly reports whether the next span is of first.
func (f *feed) isEarly() bool {
	return len(f.first) > 0 && (f.span == f.lane.Spans() || f.first[0].row <= f.lane.Need(f.span))
}

// settle finds where the next span is needed; false if no step waits for one.
func (f *feed) settle(e *laneEpoch) bool {
	if f.isEarly() {
		f.need = e.position(f.slot, f.first[0].row)
	} else if f.span < f.lane.Spans() {
		f.need = e.position(f.slot, f.lane.Need(f.span))
	} else {
		return false
	}
	return f.need < e.read.to
}

// siblings finds the units of which several lanes of this stream have a part.
func (s *laneSchedule) siblings() map[int][]sibling {
	units := s.epochs.plan.Units()
	cut := map[int][]sibling{}
	for _, f := range s.feeds.All() {
		add := func(j int, need int64) {
			if sp := f.lane.Span(j); sp.Rows() < units.At(sp.Unit).Samples {
				cut[sp.Unit] = append(cut[sp.Unit], sibling{feed: f, span: j, Span: sp, need: s.now.position(f.slot, need)})
			}
		}
		for _, x := range f.first {
			add(x.span, f.start)
		}
		for j := f.span; j < f.lane.Spans(); j++ {
			if sp := f.lane.Span(j); sp.Rows() < units.At(sp.Unit).Samples {
				add(j, f.lane.Need(j))
			}
		}
	}
	for unit, list := range cut {
		if len(list) < 2 {
			delete(cut, unit)
			continue
		}
		slices.SortFunc(list, func(a, b sibling) int { return cmp.Compare(a.From, b.From) })
	}
	return cut
}

// load makes the load of a span and of the siblings that are due within a tick of it.
func (s *laneSchedule) load(f *feed, j int) *ahead.Load {
	list := []sibling{{feed: f, span: j, Span: f.lane.Span(j), need: f.need}}
	if family := s.cut[list[0].Unit]; family != nil {
		list = s.together(family, list[0])
	}
	unit := list[0].Unit
	u := s.epochs.plan.Units().At(unit)
	l := s.sizes.newLoad(u, shuffle.Span{Unit: unit, From: list[0].From, To: list[len(list)-1].To}, len(list) == 1)
	l.Epoch, l.Need = s.now.Number(), f.need
	for _, b := range list {
		l.Wanted = append(l.Wanted, ahead.Wanted{
			Key:  ahead.Key{Epoch: s.now.Number(), Source: s.epochs.source(), Slot: int32(b.feed.slot), Span: int32(b.span)},
			Lane: b.feed.lane, Offset: int(b.From - list[0].From), Rows: int(b.Rows()),
		})
	}
	return l
}

// together is the run of siblings around one that touch each other and are due soon, so that their
// unit is decoded once.
func (s *laneSchedule) together(family []sibling, first sibling) []sibling {
	soon := first.need + s.epochs.tick()
	at := slices.IndexFunc(family, func(b sibling) bool { return b.feed == first.feed && b.span == first.span })
	joins := func(i, next int) bool {
		if i < 0 || i >= len(family) || family[i].need > soon || family[i].need >= s.now.read.to || family[i].feed.taken[family[i].span] {
			return false
		}
		b := family[i]
		left, right := family[min(i, next)], family[max(i, next)]
		return left.To == right.From && (b.span >= b.feed.span || b.feed.hasEarly(b.span))
	}
	lo, hi := at, at
	for joins(lo-1, lo) {
		lo--
	}
	for joins(hi+1, hi) {
		hi++
	}
	for i := lo; i <= hi; i++ {
		if b := family[i]; i != at {
			if b.feed.taken == nil {
				b.feed.taken = map[int]bool{}
			}
			b.feed.taken[b.span] = true
		}
	}
	return family[lo : hi+1]
}

// hasEarly reports whether a span of first is left.
func (f *feed) hasEarly(span int) bool {
	return slices.ContainsFunc(f.first, func(x early) bool { return x.span == span })
}
