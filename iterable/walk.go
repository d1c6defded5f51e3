package iterable

import (
	"context"
	"maps"

	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A walk goes through the order of a stream, step by step, and picks rows. One goroutine calls it.
type walk interface {
	// begin goes to the stream's part of the next step and returns its rows, and how many they were
	// if the step were full.
	begin(st step) (rows, full int)
	// fill appends the picks of the part to d. When it fails because ctx ended, it can be called
	// again and goes on.
	fill(ctx context.Context, d *Draw) error
	// close drops what is in the buffer.
	close()
}

// laneWalk takes rows from lanes.
type laneWalk struct {
	stream *Stream
	epochs *laneEpochs
	view   *shuffle.View

	epoch uint64
	walks map[uint64]*epochWalk
	share shuffle.Share
	lanes []*laneCursor // by take
	at    int           // in share.Order
}

// An epochWalk is the places in the lanes of one epoch.
type epochWalk struct {
	*laneEpoch
	cursors []*laneCursor // by slot; nil before its first row
}

func newLaneWalk(s *Stream, e *laneEpochs) *laneWalk {
	return &laneWalk{stream: s, epochs: e, view: e.view, epoch: e.start.epoch, walks: map[uint64]*epochWalk{}}
}

func (w *laneWalk) begin(st step) (rows, full int) {
	if st.epoch != w.epoch {
		w.leave(st.epoch)
	}
	e := w.walkOf(st.epoch)
	w.view.Step(e.Epoch, st.pos, st.rows, &w.share)
	w.lanes, w.at = w.lanes[:0], 0
	for _, t := range w.share.Takes {
		w.lanes = append(w.lanes, w.cursor(e, t.Slot, t.From))
	}
	rows, full = len(w.share.Order), len(w.share.Order)
	if g := w.epochs.start.GlobalBatch; st.rows < g {
		full = int(w.view.Rows(e.Epoch, st.pos, g))
	}
	return rows, full
}

func (w *laneWalk) walkOf(epoch uint64) *epochWalk {
	e := w.walks[epoch]
	if e == nil {
		e = &epochWalk{laneEpoch: w.epochs.at(epoch)}
		e.cursors = make([]*laneCursor, len(e.lanes))
		w.walks[epoch] = e
	}
	return e
}

// leave drops the epochs before one.
func (w *laneWalk) leave(epoch uint64) {
	w.drop(epoch)
	w.epoch = epoch
	w.epochs.forget(epoch)
	w.stream.forget(epoch)
}

func (w *laneWalk) close() { w.drop(^uint64(0)) }

// drop drops what the lanes of the epochs before one still have in the buffer.
func (w *laneWalk) drop(before uint64) {
	maps.DeleteFunc(w.walks, func(n uint64, e *epochWalk) bool {
		if n >= before {
			return false
		}
		for _, c := range e.cursors {
			if c != nil {
				c.close(w.stream)
			}
		}
		return true
	})
}

// cursor of a lane, from a row on. Under Carry rows past the lane's end are the rows of the next
// epoch's lane at the slot.
func (w *laneWalk) cursor(e *epochWalk, slot int, row int64) *laneCursor {
	for n := e.LaneRows(slot); row >= n; n = e.LaneRows(slot) {
		e, row = w.walkOf(e.Number()+1), row-n
	}
	c := e.cursors[slot]
	if c == nil {
		lane := e.lanes[slot]
		c = &laneCursor{epoch: e.Number(), slot: slot, lane: lane, it: lane.Iter(), residents: make([]*resident, lane.Spans())}
		c.it.SeekRow(e.begins(slot)) // as the schedule does, so that both want the same spans
		e.cursors[slot] = c
	}
	c.want = row
	return c
}

func (w *laneWalk) fill(ctx context.Context, d *Draw) error {
	for ; w.at < len(w.share.Order); w.at++ {
		take := w.share.Order[w.at]
		c := w.lanes[take]
		if c.want == c.lane.Rows() {
			c = w.cursor(w.walkOf(c.epoch), c.slot, c.want)
			w.lanes[take] = c
		}
		if err := c.take(ctx, w.stream, d); err != nil {
			return err
		}
	}
	return nil
}

// A laneCursor is the place in one lane of one epoch.
type laneCursor struct {
	source    int32
	epoch     uint64
	slot      int
	lane      *shuffle.Lane
	it        *shuffle.Iter
	residents []*resident // by span; nil when not there
	active    []uint32    // spans that are there, in parts

	tick shuffle.Tick
	at   int   // next pick of the tick
	want int64 // lane row of the next pick; those before it are another worker's

	// Of a source of a mixture.
	kept   *keptUnits // nil: spans are loaded by pass
	before int64      // samples of the source in the lane before the pass
}

// row of the next pick.
func (c *laneCursor) row() int64 { return c.tick.Row + int64(c.at) }

// take picks the row that is wanted next. It can be called again when ctx ended.
func (c *laneCursor) take(ctx context.Context, s *Stream, d *Draw) error {
	for c.at == len(c.tick.Picks) || c.row() < c.want {
		if err := c.advance(ctx, s, d); err != nil {
			return err
		}
	}
	p := c.tick.Picks[c.at]
	r, err := c.resident(ctx, s, p.Span)
	if err != nil {
		return err
	}
	if r.lost == nil {
		d.pick(s.pick(d, r, p.Seq), c.epoch, r.start.Hash(p.Seq))
	} else if err := s.miss(d, r, p.Seq, 1); err != nil {
		return err
	}
	c.at++
	c.want++
	if c.at == len(c.tick.Picks) {
		c.finish(s, d.number)
	}
	return nil
}

// advance skips picks of the tick that are not wanted, or goes to the next tick. It can be called
// again when ctx ended.
func (c *laneCursor) advance(ctx context.Context, s *Stream, d *Draw) error {
	if c.at == len(c.tick.Picks) {
		if !c.it.Next(&c.tick) {
			return errOrder
		}
		c.at = 0
		return nil
	}
	for ; c.at < len(c.tick.Picks) && c.row() < c.want; c.at++ {
		if _, err := c.resident(ctx, s, c.tick.Picks[c.at].Span); err != nil { // it leaves the buffer with its last row
			return err
		}
	}
	if c.at == len(c.tick.Picks) {
		c.finish(s, d.number)
	}
	return nil
}

// resident is a span of the tick's picks. It comes into the buffer with the first of them, which
// may be long after the plan has room for it: so the first batch waits for the units of its own
// rows, not for all that the buffer is filled with.
func (c *laneCursor) resident(ctx context.Context, s *Stream, j uint32) (*resident, error) {
	if r := c.residents[j]; r != nil {
		return r, nil
	}
	r, err := c.load(ctx, s, j)
	if err != nil {
		return nil, err
	}
	c.residents[j] = r
	sp := c.lane.Span(int(j))
	r.start = s.keys[c.source].At(sp.Unit, sp.From)
	if r.parts > 0 {
		c.active = append(c.active, j)
		if left := int(c.lane.Emitted(int(j), c.tick.Index-1)); left > 0 {
			s.buffer.skip(r, left)
		}
	}
	return r, nil
}

// load waits for a span.
func (c *laneCursor) load(ctx context.Context, s *Stream, j uint32) (*resident, error) {
	if c.kept != nil {
		return c.kept.span(ctx, s, c.lane, int(j))
	}
	return s.await(ctx, ahead.Key{Epoch: c.epoch, Source: c.source, Slot: int32(c.slot), Span: int32(j)})
}

// finish frees what has left for good with the tick.
func (c *laneCursor) finish(s *Stream, draw int64) {
	kept := c.active[:0]
	for _, j := range c.active {
		emitted := int(c.lane.Emitted(int(j), c.tick.Index))
		if r := c.residents[j]; emitted < r.rows {
			s.buffer.left(r, emitted, draw)
			kept = append(kept, j)
		}
	}
	c.active = kept
	for _, j := range c.tick.Finished {
		s.buffer.left(c.residents[j], c.residents[j].rows, draw)
		c.residents[j] = nil
	}
}

// close drops what the lane still has in the buffer.
func (c *laneCursor) close(s *Stream) {
	for j, r := range c.residents {
		if r != nil {
			s.buffer.drop(r, s.drawn)
			c.residents[j] = nil
		}
	}
}
