package iterable

import (
	"context"

	"github.com/shardfeed/shardfeed/shuffle"
)

// mixedWalk takes samples from the lanes of a mixture.
type mixedWalk struct {
	mixed   *mixed
	share   shuffle.Share
	lanes   []*mixedLane // by slot; nil before its first sample
	takes   []*mixedLane // by take
	at      int          // in share.Order
	sources sourceWalks
}

// A mixedLane is the place in one lane of a mixture.
type mixedLane struct {
	slot   int
	lane   *shuffle.MixLane
	walk   *shuffle.MixWalk
	source int     // of the next sample; -1 when it is not known
	taken  []int64 // samples of each source before it
}

func newMixedWalk(s *Stream, x *mixed) *mixedWalk {
	return &mixedWalk{mixed: x, lanes: make([]*mixedLane, x.mixture.Lanes()), sources: newSourceWalks(s, x)}
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
		l = &mixedLane{slot: slot, lane: w.mixed.lanes[slot], source: -1}
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
		if err := w.sources[l.source].take(ctx, d, l.slot, l.taken[l.source]); err != nil {
			return err
		}
		l.taken[l.source]++
		l.source = -1
	}
	return nil
}

func (w *mixedWalk) close() { w.sources.close() }

// stepWalk takes steps of one source each.
type stepWalk struct {
	mixed   *mixed
	steps   *shuffle.MixWalk // nil before the first step
	taken   []int64          // steps of each source before the next
	source  int              // of the step at hand
	share   shuffle.Share
	next    []int64 // by take: sample of the source in the lane
	at      int     // in share.Order
	sources sourceWalks
}

func newStepWalk(s *Stream, x *mixed) *stepWalk {
	return &stepWalk{mixed: x, sources: newSourceWalks(s, x)}
}

func (w *stepWalk) begin(st step) (rows, full int) {
	m, lane := w.mixed.mixture, w.mixed.steps
	n := m.Step(m.At(st.epoch, st.pos))
	if w.steps == nil || w.steps.Row() != n {
		w.steps, w.taken = lane.Walk(n), lane.Counts(n, w.taken)
	}
	w.source = w.steps.Next()
	g := w.mixed.start.GlobalBatch // the rows of each step
	w.mixed.sources[w.source].view.StepAt(w.taken[w.source]*g, g, &w.share)
	w.taken[w.source]++
	w.next, w.at = w.next[:0], 0
	for _, t := range w.share.Takes {
		w.next = append(w.next, t.From)
	}
	return len(w.share.Order), len(w.share.Order)
}

func (w *stepWalk) fill(ctx context.Context, d *Draw) error {
	for ; w.at < len(w.share.Order); w.at++ {
		take := w.share.Order[w.at]
		if err := w.sources[w.source].take(ctx, d, w.share.Takes[take].Slot, w.next[take]); err != nil {
			return err
		}
		w.next[take]++
	}
	return nil
}

func (w *stepWalk) close() { w.sources.close() }

// A sourceWalk is the places in the lanes of a source. It takes the source's samples in their
// order, so that no lane goes back to a pass that another has left.
type sourceWalk struct {
	stream  *Stream
	of      *mixedSource
	pass    *laneEpoch    // in progress; nil before the first sample
	cursors []*laneCursor // by slot; nil before the first sample of the pass
}

type sourceWalks []*sourceWalk

func newSourceWalks(s *Stream, x *mixed) (all sourceWalks) {
	for _, m := range x.sources {
		all = append(all, &sourceWalk{stream: s, of: m, cursors: make([]*laneCursor, m.plan.Params().Lanes)})
	}
	return all
}

// take picks a sample of the lane at a slot, its number counted over all passes. It can be called
// again when ctx ended.
func (w *sourceWalk) take(ctx context.Context, d *Draw, slot int, sample int64) error {
	c := w.cursors[slot]
	if c == nil || c.want == c.lane.Rows() || sample != c.before+c.want {
		c = w.seek(slot, sample)
	}
	return c.take(ctx, w.stream, d)
}

// seek goes to a sample, which may be of a later pass.
func (w *sourceWalk) seek(slot int, sample int64) *laneCursor {
	for w.pass == nil || sample >= w.pass.first[slot]+w.pass.LaneRows(slot) {
		w.next()
	}
	e, m := w.pass, w.of
	c := w.cursors[slot]
	if c == nil {
		lane := e.lanes[slot]
		c = &laneCursor{
			source: int32(m.number), epoch: e.Number(), slot: slot, lane: lane, it: lane.Iter(), residents: make([]*resident, lane.Spans()),
			kept: m.kept, before: e.first[slot],
		}
		c.it.SeekRow(e.begins(slot)) // as the schedule does, so that both want the same spans
		w.cursors[slot] = c
	}
	c.want = sample - e.first[slot]
	return c
}

// next leaves the pass.
func (w *sourceWalk) next() {
	pass := w.of.epochs.start.epoch
	if w.pass != nil {
		pass = w.pass.Number() + 1
	}
	for slot, c := range w.cursors {
		if c != nil {
			c.close(w.stream)
			w.cursors[slot] = nil
		}
	}
	w.of.epochs.forget(pass)
	w.pass = w.of.epochs.at(pass)
}

func (all sourceWalks) close() {
	for _, w := range all {
		for _, c := range w.cursors {
			if c != nil {
				c.close(w.stream)
			}
		}
		if w.of.kept != nil {
			w.of.kept.close(w.stream)
		}
	}
}
