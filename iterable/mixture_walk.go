package iterable

import (
	"context"

	"github.com/shardfeed/shardfeed/shuffle"
)

// mixedWalk takes samples from the lanes of a mixture.
type mixedWalk struct {
	stream *Stream
	mixed  *mixed
	share  shuffle.Share
	lanes  []*mixedLane // by slot; nil before its first sample
	takes  []*mixedLane // by take
	at     int          // in share.Order
}

// A mixedLane is the place in one lane of a mixture.
type mixedLane struct {
	slot    int
	lane    *shuffle.MixLane
	walk    *shuffle.MixWalk
	source  int           // of the next sample; -1 when it is not known
	taken   []int64       // samples of each source before it
	cursors []*laneCursor // by source; nil before its first sample
}

func newMixedWalk(s *Stream, x *mixed) *mixedWalk {
	return &mixedWalk{stream: s, mixed: x, lanes: make([]*mixedLane, x.mixture.Lanes())}
}

func (w *mixedWalk) begin(st step) (rows, full int) {
	x := w.mixed.mixture.At(st.epoch, st.pos)
	w.mixed.view.StepAt(x, st.rows, &w.share)
	w.takes, w.at = w.takes[:0], 0
	for _, t := range w.share.Takes {
		w.takes = append(w.takes, w.lane(t.Slot, t.From))
	}
	rows, full = len(w.share.Order), len(w.share.Order)
	if g := w.mixed.start.GlobalBatch; st.rows < g {
		full = int(w.mixed.view.RowsAt(x, g))
	}
	return rows, full
}

// lane goes to a row of the lane at a slot.
func (w *mixedWalk) lane(slot int, row int64) *mixedLane {
	l := w.lanes[slot]
	if l == nil {
		l = &mixedLane{slot: slot, lane: w.mixed.lanes[slot], cursors: make([]*laneCursor, len(w.mixed.sources)), source: -1}
		w.lanes[slot] = l
	}
	if l.walk == nil || l.walk.Row() != row {
		l.walk, l.source = l.lane.Walk(row), -1
		l.taken = l.lane.Counts(row, l.taken)
	}
	return l
}

func (w *mixedWalk) fill(ctx context.Context, d *Draw) error {
	for ; w.at < len(w.share.Order); w.at++ {
		l := w.takes[w.share.Order[w.at]]
		if l.source < 0 {
			l.source = l.walk.Next()
		}
		if err := w.take(ctx, d, l); err != nil {
			return err
		}
		l.taken[l.source]++
		l.source = -1
	}
	return nil
}

// take picks the next sample of a lane.
func (w *mixedWalk) take(ctx context.Context, d *Draw, l *mixedLane) error {
	c := l.cursors[l.source]
	if c == nil || c.want == c.lane.Rows() || l.taken[l.source] != c.before+c.want {
		c = w.cursor(l)
	}
	return c.take(ctx, w.stream, d)
}

// cursor goes to the next sample of a lane's source, which may be of a later pass.
func (w *mixedWalk) cursor(l *mixedLane) *laneCursor {
	m := w.mixed.sources[l.source]
	pass, row := w.mixed.mixture.Pass(l.source, l.slot, l.taken[l.source])
	c := l.cursors[l.source]
	if c == nil || c.epoch != pass {
		if c != nil {
			c.close(w.stream)
		}
		e := m.epochs.at(pass)
		lane := e.lanes[l.slot]
		c = &laneCursor{
			source: int32(l.source), epoch: pass, slot: l.slot, lane: lane, it: lane.Iter(), residents: make([]*resident, lane.Spans()),
			kept: m.kept, before: w.mixed.mixture.PassFirst(l.source, l.slot, pass),
		}
		c.it.SeekRow(e.begins(l.slot)) // as the schedule does, so that both want the same spans
		l.cursors[l.source] = c
		w.forget(m)
	}
	c.want = row
	return c
}

// forget drops the passes over a source that all lanes have left.
func (w *mixedWalk) forget(m *mixedSource) {
	oldest := ^uint64(0)
	for _, slot := range w.mixed.slots {
		l := w.lanes[slot]
		if l == nil || l.cursors[m.number] == nil {
			return
		}
		oldest = min(oldest, l.cursors[m.number].epoch)
	}
	m.epochs.forget(oldest)
}

func (w *mixedWalk) close() {
	for _, l := range w.lanes {
		if l == nil {
			continue
		}
		for _, c := range l.cursors {
			if c != nil {
				c.close(w.stream)
			}
		}
	}
	for _, m := range w.mixed.sources {
		if m.kept != nil {
			m.kept.close(w.stream)
		}
	}
}
