package iterable

import (
	"github.com/shardfeed/shardfeed/iterable/internal/saved"
	"github.com/shardfeed/shardfeed/shuffle"
)

// planOrder is the shuffled order of a source.
type planOrder struct {
	source *source
	plan   *shuffle.Plan

	worker shuffle.Worker // of view
	batch  int64
	view   *shuffle.View // nil before the first
}

// seated returns the view of a worker on steps of globalBatch rows. A stream's portion and its note
// share it; all views of an order have the same seats.
func (r *planOrder) seated(w shuffle.Worker, seats shuffle.Seats, globalBatch int64) (*shuffle.View, error) {
	if r.view != nil && r.worker == w && r.batch == globalBatch {
		return r.view, nil
	}
	v, err := r.plan.SeatedView(w, seats, globalBatch)
	if err == nil {
		r.worker, r.batch, r.view = w, globalBatch, v
	}
	return v, err
}

func (r *planOrder) state(globalBatch int64) shuffle.State { return r.plan.State(0, 0, globalBatch) }

func (r *planOrder) portion(w shuffle.Worker, start stepper, seats shuffle.Seats, drawn int64) (p portion, err error) {
	v, err := r.seated(w, seats, start.GlobalBatch)
	if err != nil {
		return p, err
	}
	sizes := r.source.sizes
	e := &laneEpochs{plan: r.plan, view: v, start: start, made: map[uint64]*laneEpoch{}}
	return portion{
		bound: sizes.epochs(e, drawn), schedule: newLaneSchedule(e, sizes), lanes: len(e.at(start.epoch).slots),
		walk: func(s *Stream) walk { return newLaneWalk(s, e) },
	}, nil
}

func (r *planOrder) buffer() int64 { return r.plan.Params().Buffer }

func (r *planOrder) reads(w shuffle.Worker, start stepper) ([]planReads, error) {
	v, err := r.plan.View(w)
	if err != nil {
		return nil, err
	}
	if v.Exclusive() {
		return []planReads{readsOf(r.plan, v.StepSlots(start.GlobalBatch))}, nil
	}
	last := start.Rows % start.GlobalBatch
	if start.Rows < start.GlobalBatch {
		last = start.Rows
	}
	return []planReads{readsOf(r.plan, v.Reads(start.GlobalBatch, last))}, nil
}

func (r *planOrder) describe(p *Plan) (err error) {
	params := r.plan.Params()
	p.Params, p.Lanes, p.Quality = &params, params.Lanes, r.plan.Quality(p.GlobalBatch)
	p.Poor, err = r.poorMixing(p.WorldSize, p.GlobalBatch)
	return err
}

func (r *planOrder) poorMixing(worldSize int, globalBatch int64) (*PoorMixing, error) {
	return r.source.poorMixing(r.plan, worldSize, globalBatch)
}

func (r *planOrder) note(n *saved.LaneNotes, w shuffle.Worker, globalBatch int64, o StreamOptions) error {
	if n == nil || w.Workers > 1 || r.plan.Params().Assign != shuffle.Sticky {
		return nil
	}
	v, err := r.seated(w, o.Seats, globalBatch)
	if err == nil {
		n.Note(r.plan.State(0, 0, globalBatch), v.Lines(globalBatch), o.Seats, w, o.LocalWorldSize)
	}
	return err
}

func (r *planOrder) units(int) *shuffle.Units { return r.plan.Units() }

func (r *planOrder) left(epoch uint64, pos int64, yield func(source int, p shuffle.Part)) []uint64 {
	epoch, pos = passOf(epoch, pos, r.plan.Rows())
	if pos == 0 {
		return []uint64{epoch}
	}
	r.plan.Epoch(epoch).Left(pos, func(p shuffle.Part) { yield(0, p) })
	return []uint64{epoch + 1}
}

// withTail returns saved parameters with another tail, if that does not move rows.
func withTail(params shuffle.Params, tail shuffle.Tail) (shuffle.Params, error) {
	if params.Tail != tail && (params.Tail == shuffle.Carry || tail == shuffle.Carry) {
		return params, &shuffle.MismatchError{Field: "tail", Saved: string(params.Tail), Here: string(tail)}
	}
	params.Tail = tail
	return params, nil
}

// planned makes the shuffled order of the saved plan.
func (d *source) planned(tail shuffle.Tail) (*shuffle.Plan, error) {
	pinned := d.options.Plan
	params, err := withTail(*pinned.Params, tail)
	if err != nil {
		return nil, err
	}
	units, err := d.cut(params.UnitRows)
	if err != nil {
		return nil, err
	}
	p, err := d.newPlan(units, params, d.options.Seed)
	if err == nil && p.UnitsHash() != pinned.Units {
		err = &shuffle.MismatchError{Field: "units", Saved: pinned.Units, Here: p.UnitsHash()}
	}
	return p, err
}
