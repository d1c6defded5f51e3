package iterable

import (
	"context"
	"errors"

	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/iterable/internal/saved"
	"github.com/shardfeed/shardfeed/shuffle"
)

// fileOrder is the order of a source without shuffle.
type fileOrder struct {
	source   *source
	sequence *shuffle.Sequence
	seed     uint64 // for states
}

func (r *fileOrder) state(globalBatch int64) shuffle.State {
	return r.sequence.State(r.seed, 0, 0, globalBatch)
}

func (r *fileOrder) portion(w shuffle.Worker, start stepper, seats shuffle.Seats, drawn int64) (p portion, err error) {
	if seats != nil {
		return p, errSeats()
	}
	sizes := r.source.sizes
	f := &fileReading{sequence: r.sequence, worker: w, start: start}
	return portion{
		bound: sizes.files(r.sequence.Units(), drawn), schedule: newFileSchedule(f, sizes),
		walk: func(s *Stream) walk { return &fileWalk{stream: s, order: f} },
	}, nil
}

func (r *fileOrder) buffer() int64 { return 0 }

func (r *fileOrder) reads(shuffle.Worker, stepper) ([]planReads, error) {
	return nil, errors.New("in file order every rank reads nearly all units")
}

func (r *fileOrder) describe(*Plan) error { return nil }

func (r *fileOrder) poorMixing(int, int64) (*PoorMixing, error) { return nil, nil }

func (r *fileOrder) note(*saved.LaneNotes, shuffle.Worker, int64, StreamOptions) error { return nil }

func (r *fileOrder) units(int) *shuffle.Units { return r.sequence.Units() }

func (r *fileOrder) left(epoch uint64, pos int64, yield func(source int, p shuffle.Part)) []uint64 {
	epoch, pos = passOf(epoch, pos, r.sequence.Rows())
	if pos == 0 {
		return []uint64{epoch}
	}
	r.sequence.Left(pos, func(p shuffle.Part) { yield(0, p) })
	return []uint64{epoch + 1}
}

// A fileReading is the files as a stream reads them.
type fileReading struct {
	sequence *shuffle.Sequence
	worker   shuffle.Worker
	start    stepper
}

// fileSchedule lists the units that hold rows of the stream, in file order.
type fileSchedule struct {
	order *fileReading
	sizes *sizes

	steps stepper // of the step whose rows are listed next
	spans []fileSpan
	last  uint64 // epoch that had spans, or the first
}

// A fileSpan is the rows of a unit that a stream has from, in one epoch.
type fileSpan struct {
	epoch uint64
	shuffle.Span
}

func newFileSchedule(o *fileReading, s *sizes) *fileSchedule {
	return &fileSchedule{order: o, sizes: s, steps: o.start, last: o.start.epoch}
}

// Next collects all rows that the stream has of a unit, as one run, before it returns the load.
func (s *fileSchedule) Next() (*ahead.Load, bool) {
	for len(s.spans) < 2 {
		st, ok := s.steps.next()
		if !ok || s.steps.ends(st.epoch, s.last) {
			break
		}
		s.order.parts(st, func(sp fileSpan) {
			s.last = sp.epoch
			if n := len(s.spans); n > 0 && s.spans[n-1].epoch == sp.epoch && s.spans[n-1].Unit == sp.Unit {
				s.spans[n-1].To = sp.To
				return
			}
			s.spans = append(s.spans, sp)
		})
	}
	if len(s.spans) == 0 {
		return nil, false
	}
	first := s.spans[0]
	s.spans = s.spans[1:]
	return s.load(first), true
}

// load makes the load of a unit. A stream that has most of a unit reads all of it, so that streams
// of other ranks in this process can use the same block.
func (s *fileSchedule) load(f fileSpan) *ahead.Load {
	u := s.order.sequence.Units().At(f.Unit)
	sp := f.Span
	if 2*sp.Rows() >= u.Samples {
		sp.From, sp.To = 0, u.Samples
	}
	l := s.sizes.newLoad(u, sp, false)
	l.Epoch, l.Need = f.epoch, s.order.sequence.Start(f.Unit)+f.From
	l.Shared = s.order.worker.WorldSize*s.order.worker.Workers > 1
	l.Wanted = []ahead.Wanted{{Key: f.key(), Offset: int(f.From - sp.From), Rows: int(f.Rows())}}
	return l
}

func (f fileSpan) key() ahead.Key { return ahead.Key{Epoch: f.epoch, Span: int32(f.Unit)} }

// parts calls yield with the stream's runs of rows in a step.
func (o *fileReading) parts(st step, yield func(fileSpan)) {
	lo, hi := o.worker.Block(st.pos, st.rows)
	n := o.sequence.Rows()
	o.sequence.Spans(lo, min(hi, n), func(sp shuffle.Span) { yield(fileSpan{epoch: st.epoch, Span: sp}) })
	for e := uint64(1); hi > int64(e)*n; e++ { // under Carry: the epochs after
		from, to := max(lo-int64(e)*n, 0), min(hi-int64(e)*n, n)
		o.sequence.Spans(from, to, func(sp shuffle.Span) { yield(fileSpan{epoch: st.epoch + e, Span: sp}) })
	}
}

// fileWalk takes rows in file order.
type fileWalk struct {
	stream *Stream
	order  *fileReading

	step []fileSpan // the stream's runs of the step
	at   int        // in step
	row  int64      // rows of step[at] that were taken

	now   *resident // of the last run
	key   ahead.Key // its
	first int64     // number of its first row among the unit's
}

func (w *fileWalk) begin(st step) (rows, full int) {
	w.step, w.at, w.row = w.step[:0], 0, 0
	w.order.parts(st, func(sp fileSpan) {
		w.step = append(w.step, sp)
		rows += int(sp.Rows())
	})
	lo, hi := w.order.worker.Block(st.pos, w.order.start.GlobalBatch)
	return rows, int(hi - lo)
}

func (w *fileWalk) fill(ctx context.Context, d *Draw) error {
	for ; w.at < len(w.step); w.at++ {
		run := w.step[w.at]
		if err := w.reach(ctx, run); err != nil {
			return err
		}
		r := w.now
		if r.lost != nil {
			if err := w.stream.miss(d, r, uint32(run.From-w.first), int(run.Rows())); err != nil {
				return err
			}
		} else {
			for row := run.From; row < run.To; row++ {
				seq := uint32(row - w.first)
				d.pick(w.stream.pick(d, r, seq), run.epoch, r.start.Hash(seq))
			}
		}
		emitted := int(run.To - w.first)
		w.stream.buffer.left(r, emitted, d.number)
		if emitted == r.rows {
			w.now = nil
		}
	}
	return nil
}

// reach makes the block of a run the current one.
func (w *fileWalk) reach(ctx context.Context, run fileSpan) error {
	if k := run.key(); w.now == nil || w.key != k {
		r, err := w.stream.await(ctx, k)
		if err != nil {
			return err
		}
		w.now, w.key, w.first = r, k, run.From
		r.start = w.stream.keys[0].At(run.Unit, run.From)
	}
	return nil
}

func (w *fileWalk) close() {
	if w.now != nil {
		w.stream.buffer.drop(w.now, w.stream.drawn)
		w.now = nil
	}
}
