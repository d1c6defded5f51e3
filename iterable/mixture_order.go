package iterable

import (
	"github.com/shardfeed/shardfeed/iterable/internal/saved"
	"github.com/shardfeed/shardfeed/shuffle"
)

// mixtureOrder is the order of a mixture.
type mixtureOrder struct {
	mixture *mixture
	made    *shuffle.Mixture
	tail    shuffle.Tail // for states
}

func (d *mixture) order(worldSize int, o StreamOptions, buffer, memory int64) (order, error) {
	m, err := d.made(worldSize, o, buffer, memory)
	return &mixtureOrder{mixture: d, made: m, tail: o.Tail}, err
}

// made returns the mixture of a state, or of the options.
func (d *mixture) made(worldSize int, o StreamOptions, buffer, memory int64) (*shuffle.Mixture, error) {
	if o.State != nil {
		return d.remix(*o.State)
	}
	return d.mix(worldSize, o, buffer, memory)
}

func (r *mixtureOrder) state(globalBatch int64) shuffle.State {
	return r.made.State(0, 0, globalBatch, r.tail)
}

func (r *mixtureOrder) portion(w shuffle.Worker, start stepper, seats shuffle.Seats, drawn int64) (p portion, err error) {
	if seats != nil {
		return p, errSeats()
	}
	x, err := r.mixture.newMixed(r.made, w, start)
	if err != nil {
		return p, err
	}
	return portion{bound: x.bound(drawn), schedule: x.schedule(), walk: x.walk, lanes: x.mostLanes()}, nil
}

func (r *mixtureOrder) buffer() (rows int64) {
	for _, s := range r.made.Sources() {
		rows += s.Plan.Params().Buffer
	}
	return rows
}

func (r *mixtureOrder) reads(w shuffle.Worker, start stepper) (all []planReads, err error) {
	x, err := r.mixture.newMixed(r.made, w, start)
	if err != nil {
		return nil, err
	}
	for i, m := range x.sources {
		of := readsOf(m.plan, m.slots)
		if x.steps == nil { // passes divide rows among the lanes in different ways
			of.epochs, of.epoch = mostEpochs, func(e uint64) *shuffle.Epoch { return r.made.Pass(i, e).Epoch }
		}
		of.kept = m.kept != nil
		all = append(all, of)
	}
	return all, nil
}

func (r *mixtureOrder) describe(p *Plan) error {
	p.Batching, p.Lanes, p.Sources = r.made.Options().Batching, r.made.Lanes(), r.mixture.planSources(r.made)
	return nil
}

func (r *mixtureOrder) poorMixing(int, int64) (*PoorMixing, error) { return nil, nil }

func (r *mixtureOrder) note(*saved.LaneNotes, shuffle.Worker, int64, StreamOptions) error { return nil }

func (r *mixtureOrder) units(source int) *shuffle.Units { return r.made.Sources()[source].Plan.Units() }

func (r *mixtureOrder) left(epoch uint64, pos int64, yield func(source int, p shuffle.Part)) (passes []uint64) {
	x := r.made.At(epoch, pos)
	for d, n := range r.made.Counts(x, nil) {
		passes = append(passes, 0)
		if rows := r.made.Sources()[d].Plan.Rows(); rows > 0 {
			passes[d] = uint64(n/rows) + 1
		}
	}
	r.made.Left(x, yield)
	return passes
}
