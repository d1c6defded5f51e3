package iterable

import (
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A mixed is a mixture as one stream reads it: samples [from, to), counted over all epochs, of the
// lanes at some slots. It is immutable.
type mixed struct {
	mixture  *shuffle.Mixture
	start    stepper
	from, to int64
	sources  []*mixedSource

	// Of batching "stratified", where the mixture has lanes.
	view  *shuffle.View
	slots []int
	lanes []*shuffle.MixLane // by slot; nil for lanes that others read

	// Of batching "per_source", where each source has lanes of its own.
	steps *shuffle.MixLane // nil otherwise
	begun []int64          // steps of each source before the stream's
}

// A mixedSource is one of its sources.
type mixedSource struct {
	mixed  *mixed
	number int
	*source
	plan   *shuffle.Plan
	view   *shuffle.View
	slots  []int   // of the lanes that the stream reads
	first  []int64 // by slot: samples of the lane before the stream's
	epochs *laneEpochs
	kept   *keptUnits // nil: units are decoded in each pass
}

// newMixed returns the part of a mixture that a worker reads.
func (d *mixture) newMixed(m *shuffle.Mixture, w shuffle.Worker, start stepper) (*mixed, error) {
	x := &mixed{mixture: m, start: start, to: shuffle.Never}
	begin := start
	begin.epoch, begin.pos = start.Normalize(start.epoch, start.pos)
	x.from = m.At(begin.epoch, begin.pos)
	if start.end > 0 {
		x.to = m.At(start.end, 0)
	}
	if m.Options().Batching == shuffle.PerSource {
		x.steps = m.Steps()
		x.begun = x.steps.Counts(m.Step(x.from), nil)
	} else if err := x.readLanes(w); err != nil {
		return nil, err
	}
	for i, s := range d.sources {
		of, err := x.newSource(i, s, w)
		if err != nil {
			return nil, err
		}
		x.sources = append(x.sources, of)
	}
	return x, nil
}

// readLanes finds the lanes of the mixture that a worker reads.
func (x *mixed) readLanes(w shuffle.Worker) (err error) {
	m, start := x.mixture, x.start
	if x.view, err = m.View(w); err != nil {
		return err
	}
	x.slots = x.view.Reads(start.GlobalBatch, start.Rows%start.GlobalBatch)
	if start.Rows < start.GlobalBatch {
		x.slots = x.view.Reads(start.GlobalBatch, start.Rows)
	}
	x.lanes = make([]*shuffle.MixLane, m.Lanes())
	for _, slot := range x.slots {
		x.lanes[slot] = m.Lane(slot)
	}
	return nil
}

func (x *mixed) newSource(number int, s *source, w shuffle.Worker) (m *mixedSource, err error) {
	m = &mixedSource{mixed: x, number: number, source: s, plan: x.mixture.Sources()[number].Plan, view: x.view, slots: x.slots}
	if x.steps != nil {
		if m.view, err = m.plan.View(w); err != nil {
			return nil, err
		}
		m.slots = m.view.StepSlots(x.start.GlobalBatch)
	}
	m.first = make([]int64, m.plan.Params().Lanes)
	for _, slot := range m.slots {
		m.first[slot] = x.before(m, slot)
	}
	start := x.start
	start.epoch, start.pos = x.mixture.PassAt(number, x.from), 0
	m.epochs = &laneEpochs{plan: m.plan, view: m.view, start: start, of: m, made: map[uint64]*laneEpoch{}}
	if s.keeps(m.plan) {
		m.kept = newKeptUnits(m)
	}
	return m, nil
}

// before is how many samples of a source the lane at a slot has before the stream's.
func (x *mixed) before(m *mixedSource, slot int) int64 {
	if x.steps != nil {
		return rowsOfLane(x.begun[m.number]*x.start.GlobalBatch, slot, m.plan.Params().Lanes)
	}
	row := rowsOfLane(x.from, slot, x.mixture.Lanes())
	return x.lanes[slot].Count(m.number, row)
}

// rowsOfLane is how many of the first n samples are of the lane at a slot.
func rowsOfLane(n int64, slot, lanes int) int64 {
	return (n + int64(lanes) - 1 - int64(slot)) / int64(lanes)
}

// begins returns the row of a pass's lane at which the stream starts.
func (m *mixedSource) begins(e *laneEpoch, slot int) int64 {
	return min(max(0, m.first[slot]-e.first[slot]), e.LaneRows(slot))
}

// position is the sample of the mixture that a row of a pass's lane is.
func (m *mixedSource) position(e *laneEpoch, slot int, row int64) int64 {
	x := m.mixed
	sample := e.first[slot] + row
	if x.steps != nil {
		g := x.start.GlobalBatch
		q := sample*int64(m.plan.Params().Lanes) + int64(slot) // of the source
		return inSteps(x.steps.Row(m.number, q/g), g, q%g)
	}
	return inSteps(x.lanes[slot].Row(m.number, sample), int64(x.mixture.Lanes()), int64(slot))
}

// inSteps is n*of + i, or Never.
func inSteps(n, of, i int64) int64 {
	if n >= shuffle.Never/of-1 {
		return shuffle.Never
	}
	return n*of + i
}

// over reports whether the stream reads nothing of a pass, nor of those after it.
func (m *mixedSource) over(pass uint64) bool {
	return m.mixed.mixture.PassBegins(m.number, pass) >= m.mixed.to
}

// tick is about the samples of the mixture in which a tick of all lanes of the source leaves.
func (m *mixedSource) tick() int64 {
	p := m.plan.Params()
	weight, all := m.mixed.mixture.Share(m.number, m.mixed.from)
	return mem.MulDiv(int64(p.Lanes)*p.Quantum, all, max(1, weight))
}

// walk of a stream.
func (x *mixed) walk(s *Stream) walk {
	if x.steps != nil {
		return newStepWalk(s, x)
	}
	return newMixedWalk(s, x)
}

// mostLanes is how many lanes of a source the stream reads at most.
func (x *mixed) mostLanes() (n int) {
	for _, m := range x.sources {
		n = max(n, len(m.slots))
	}
	return n
}
