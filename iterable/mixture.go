package iterable

import (
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// mix makes the order of several sources that the options ask for from worldSize ranks on. buffer
// is the shuffle buffer in samples of all; 0 leaves it to the options, where memory, if not 0,
// bounds the default.
func (d *Dataset) mix(worldSize int, buffer, memory int64) (*shuffle.Mixture, error) {
	units := make([][]shuffle.Unit, len(d.sources))
	var err error
	for i, s := range d.sources {
		if units[i], err = s.cut(d.options.UnitRows); err != nil {
			return nil, err
		}
	}
	portions, err := d.portions(worldSize, buffer, memory)
	if err != nil {
		return nil, err
	}
	o := d.options.planOptions(worldSize)
	o.Tail = shuffle.Carry
	all := make([]shuffle.Params, len(d.sources))
	lanes := 0
	for i := range d.sources {
		o.Buffer = portions[i]
		if all[i], err = o.Params(units[i]); err != nil {
			return nil, err
		}
		lanes = max(lanes, all[i].Lanes)
	}
	o.Lanes = lanes
	for i := range d.sources {
		if o.Buffer = portions[i]; all[i].Lanes != lanes {
			if all[i], err = o.Params(units[i]); err != nil {
				return nil, err
			}
		}
	}
	return d.mixtureOf(units, all, d.weights, d.epoch, d.options.Seed)
}

// mixtureOf puts the plans of the sources together.
func (d *Dataset) mixtureOf(units [][]shuffle.Unit, params []shuffle.Params, weights []shuffle.Weights, rows int64, seed uint64) (*shuffle.Mixture, error) {
	all := make([]shuffle.Source, len(d.sources))
	for i, s := range d.sources {
		name := d.options.Sources[i].Name
		p, err := shuffle.New(s.data, units[i], params[i], shuffle.SourceSeed(seed, i))
		if err != nil {
			return nil, &SourceError{name, err}
		}
		all[i] = shuffle.Source{Name: name, Plan: p}
	}
	return shuffle.NewMixture(all, weights, rows, seed)
}

// portions divides the shuffle buffer among the sources, in samples. Each counts with the largest
// share that it ever has.
func (d *Dataset) portions(worldSize int, buffer, memory int64) ([]int64, error) {
	shares, err := d.shares()
	if err != nil {
		return nil, err
	}
	if buffer == 0 {
		buffer = d.options.ShuffleBuffer.Rows
	}
	all, total := make([]shuffle.Portion, len(d.sources)), int64(0)
	for i, s := range d.sources {
		all[i] = shuffle.Portion{Weight: shares[i], Rows: s.samples, Bytes: s.sampleBytes()}
		if total += all[i].Bytes; buffer > 0 {
			all[i].Bytes = all[i].Rows
		}
	}
	if buffer == 0 { // of rows of one byte
		buffer = shuffle.BufferSize{Bytes: d.options.ShuffleBuffer.Bytes, Memory: memory, WorldSize: worldSize}.Resolve(total, total)
	}
	return shuffle.Portions(buffer, all), nil
}

// shares are the largest shares that the sources ever have, of 2^20 each.
func (d *Dataset) shares() ([]int64, error) {
	all := make([]int64, len(d.sources))
	for _, w := range d.weights {
		r, err := shuffle.NewRatio(w.Weights)
		if err != nil {
			return nil, err
		}
		for i, share := range r.Weights() {
			all[i] = max(all[i], share)
		}
	}
	return all, nil
}

// remix makes the order of a state.
func (d *Dataset) remix(state shuffle.State) (*shuffle.Mixture, error) {
	if state.MixState == nil || len(state.Sources) != len(d.sources) {
		here, err := d.mix(1, 0, 0)
		if err != nil {
			return nil, err
		}
		return nil, state.FitsMixture(here)
	}
	units, params := make([][]shuffle.Unit, len(d.sources)), make([]shuffle.Params, len(d.sources))
	for i, s := range d.sources {
		params[i] = state.Sources[i].Params.Of(state.Lanes)
		var err error
		if units[i], err = s.cut(params[i].UnitRows); err != nil {
			return nil, err
		}
	}
	m, err := d.mixtureOf(units, params, state.Weights, state.Rows, state.Seed)
	if err != nil {
		return nil, err
	}
	if err := state.FitsMixture(m); err != nil {
		return nil, err
	}
	return m, nil
}

// SourceSamples are how many samples of each source of a mixture come before a state, over all
// epochs and ranks; nil for other states.
func (d *Dataset) SourceSamples(state shuffle.State) map[string]int64 {
	if !d.mixed() || state.MixState == nil {
		return nil
	}
	m, err := d.remix(state)
	if err != nil {
		return nil
	}
	all := map[string]int64{}
	for i, n := range m.Counts(m.At(state.Epoch, state.Position), nil) {
		all[d.options.Sources[i].Name] = n
	}
	return all
}

// A mixed is a mixture as one stream reads it: samples [from, to), counted over all epochs, of the
// lanes at some slots. It is immutable.
type mixed struct {
	mixture  *shuffle.Mixture
	view     *shuffle.View
	start    stepper
	from, to int64
	slots    []int
	lanes    []*shuffle.MixLane // by slot; nil for lanes that others read
	sources  []*mixedSource
}

// A mixedSource is one of its sources.
type mixedSource struct {
	mixed  *mixed
	number int
	*source
	plan   *shuffle.Plan
	first  []int64 // by slot: samples of the lane before the stream's
	epochs *laneEpochs
	kept   *keptUnits // nil: units are decoded in each pass
}

// newMixed is what a worker reads of a mixture.
func (d *Dataset) newMixed(m *shuffle.Mixture, w shuffle.Worker, start stepper) (*mixed, error) {
	v, err := m.View(w)
	if err != nil {
		return nil, err
	}
	x := &mixed{mixture: m, view: v, start: start, to: shuffle.Never, lanes: make([]*shuffle.MixLane, m.Lanes())}
	begin := start
	begin.epoch, begin.pos = start.Normalize(start.epoch, start.pos)
	x.from = m.At(begin.epoch, begin.pos)
	if start.end > 0 {
		x.to = m.At(start.end, 0)
	}
	x.slots = v.Reads(start.GlobalBatch, start.Rows%start.GlobalBatch)
	if start.Rows < start.GlobalBatch {
		x.slots = v.Reads(start.GlobalBatch, start.Rows)
	}
	for _, slot := range x.slots {
		x.lanes[slot] = m.Lane(slot)
	}
	for i, s := range d.sources {
		x.sources = append(x.sources, x.newSource(i, s))
	}
	return x, nil
}

func (x *mixed) newSource(number int, s *source) *mixedSource {
	m := &mixedSource{mixed: x, number: number, source: s, plan: x.mixture.Sources()[number].Plan, first: make([]int64, x.mixture.Lanes())}
	begin := uint64(shuffle.Never)
	var counts []int64
	for _, slot := range x.slots {
		lane := x.lanes[slot]
		counts = lane.Counts(x.row(x.from, slot), counts)
		m.first[slot] = counts[number]
		if pass, _ := x.mixture.Pass(number, slot, counts[number]); pass < begin {
			begin = pass
		}
	}
	start := x.start
	start.epoch, start.pos = begin, 0
	m.epochs = &laneEpochs{plan: m.plan, view: x.view, start: start, of: m, made: map[uint64]*laneEpoch{}}
	// Blocks of documents are packed otherwise in each pass.
	if p := m.plan.Params(); p.Buffer >= m.plan.Rows() && s.packing() == nil {
		m.kept = newKeptUnits(m)
	}
	return m
}

// row is how many samples the lane at a slot has before sample x.
func (x *mixed) row(at int64, slot int) int64 {
	lanes := int64(x.mixture.Lanes())
	return (at + lanes - 1 - int64(slot)) / lanes
}

// begins is the row of a pass's lane where the stream begins.
func (m *mixedSource) begins(e *laneEpoch, slot int) int64 {
	return min(max(0, m.first[slot]-m.mixed.mixture.PassFirst(m.number, slot, e.Number())), e.LaneRows(slot))
}

// position is the sample of the mixture that a row of a pass's lane is.
func (m *mixedSource) position(pass uint64, slot int, row int64) int64 {
	x := m.mixed
	n := x.lanes[slot].Row(m.number, x.mixture.PassFirst(m.number, slot, pass)+row)
	lanes := int64(x.mixture.Lanes())
	if n >= shuffle.Never/lanes-1 {
		return shuffle.Never
	}
	return n*lanes + int64(slot)
}

// over says that the stream reads nothing of a pass, nor of those after it.
func (m *mixedSource) over(pass uint64) bool {
	for _, slot := range m.mixed.slots {
		if m.position(pass, slot, 0) < m.mixed.to {
			return false
		}
	}
	return true
}

// tick is about the samples of the mixture in which a tick of all lanes of the source leaves.
func (m *mixedSource) tick() int64 {
	p := m.plan.Params()
	share := max(1, m.mixed.mixture.Ratio(m.mixed.from).Weights()[m.number])
	return mem.MulDiv(int64(p.Lanes)*p.Quantum, 1<<20, share)
}
