package iterable

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A mixture is the blend of several sources, by weight.
type mixture struct {
	*common
	options Options
	sources []*source
	weights []shuffle.Weights
	chosen  []int64 // samples of the sources in an epoch, if they count them in place of weights
	tokens  []int64 // of the samples of each source, where weights are in tokens; else nil
	epoch   int64   // samples, before they are rounded to steps
}

func (d *mixture) samples() int64 { return d.epoch }

func (d *mixture) rule() string { return "" } // each source has its own

// the number of steps of an epoch stays as in a state.
func (d *mixture) steps(batchSize, worldSize int, tail shuffle.Tail, state *shuffle.State) (s shuffle.Steps, err error) {
	rows := d.epoch
	switch {
	case state != nil:
		rows = state.Rows
	case d.options.perSource() && batchSize > 0 && worldSize > 0:
		if rows, _, err = d.epochCounts(int64(batchSize) * int64(worldSize)); err != nil {
			return s, err
		}
	}
	s, err = stepsOf(rows, batchSize, worldSize, tail)
	if err == nil && state != nil && d.options.perSource() && state.GlobalBatch != s.GlobalBatch {
		return s, &OptionError{Field: "BatchSize", Text: fmt.Sprintf("times the world size must be %d as in the state, got %d x %d: "+
			"with {Batching} \"per_source\" a step of so many rows is of one source", state.GlobalBatch, batchSize, worldSize)}
	}
	return s, err
}

// mix makes the order of several sources that the options ask for from worldSize ranks on. buffer
// is the shuffle buffer in samples of all; 0 leaves it to the options, where memory, if not 0,
// bounds the default. Of so, which has its defaults, the batch size counts where steps are of one
// source.
func (d *mixture) mix(worldSize int, so StreamOptions, buffer, memory int64) (*shuffle.Mixture, error) {
	steps, err := d.steps(so.BatchSize, worldSize, so.Tail, nil)
	if err != nil {
		return nil, err
	}
	mo := shuffle.MixtureOptions{Seed: d.options.Seed, Batching: d.options.Batching, Tokens: d.tokens}
	step := int64(1)
	if d.options.perSource() {
		mo.GlobalBatch, step = steps.GlobalBatch, steps.GlobalBatch
	}
	if mo.Rows, mo.Counts, err = d.epochCounts(step); err != nil {
		return nil, err
	}
	if d.options.Plan != nil {
		return d.savedMix(mo)
	}
	units := make([]*shuffle.Units, len(d.sources))
	for i, s := range d.sources {
		if units[i], err = s.cut(d.options.UnitRows); err != nil {
			return nil, err
		}
	}
	portions, err := d.portions(units, worldSize, so, buffer, memory)
	if err != nil {
		return nil, err
	}
	o := d.options.planOptions(worldSize)
	o.Tail = shuffle.Carry
	all := make([]shuffle.Params, len(d.sources))
	lanes := 0
	for i := range d.sources {
		o.Buffer = portions[i]
		if all[i], err = o.Params(*units[i]); err != nil {
			return nil, err
		}
		lanes = max(lanes, all[i].Lanes)
	}
	o.Lanes = lanes
	for i := range d.sources {
		if o.Buffer = portions[i]; all[i].Lanes != lanes && !d.options.perSource() {
			if all[i], err = o.Params(*units[i]); err != nil {
				return nil, err
			}
		}
	}
	return d.mixtureOf(units, all, d.weights, mo)
}

// mixtureAs cuts each source as its params say, and puts the plans together.
func (d *mixture) mixtureAs(params []shuffle.Params, weights []shuffle.Weights, o shuffle.MixtureOptions) (*shuffle.Mixture, error) {
	units := make([]*shuffle.Units, len(d.sources))
	for i, s := range d.sources {
		var err error
		if units[i], err = s.cut(params[i].UnitRows); err != nil {
			return nil, err
		}
	}
	return d.mixtureOf(units, params, weights, o)
}

// mixtureOf puts the plans of the sources together.
func (d *mixture) mixtureOf(units []*shuffle.Units, params []shuffle.Params, weights []shuffle.Weights, o shuffle.MixtureOptions) (*shuffle.Mixture, error) {
	all := make([]shuffle.Source, len(d.sources))
	for i, s := range d.sources {
		name := s.name
		p, err := shuffle.New(s.data, *units[i], params[i], shuffle.SourceSeed(o.Seed, i))
		if err != nil {
			return nil, &SourceError{name, err}
		}
		all[i] = shuffle.Source{Name: name, Plan: p}
	}
	return shuffle.NewMixture(all, weights, o)
}

// portions divides the shuffle buffer among the sources, in samples. Each counts with the largest
// share that it ever has.
func (d *mixture) portions(units []*shuffle.Units, worldSize int, o StreamOptions, buffer, memory int64) ([]int64, error) {
	shares, err := d.shares(d.weights)
	if err != nil {
		return nil, err
	}
	size, err := d.options.ShuffleBuffer.total(worldSize, o.LocalWorldSize)
	if err != nil {
		return nil, err
	}
	largest := int64(0) // bytes of the largest units of all sources
	for i, s := range d.sources {
		largest += mem.MulDiv(s.sampleBytes(), units[i].MostSamples(), max(1, s.samples))
	}
	size.Rows, size.Memory = cmp.Or(buffer, size.Rows), memory
	return d.divideBuffer(shares, size, largest), nil
}

// divideBuffer divides a shuffle buffer by the shares of the sources, whose largest units have so
// many bytes.
func (d *mixture) divideBuffer(shares []int64, size shuffle.BufferSize, largest int64) []int64 {
	buffer := size.Rows
	all, total := make([]shuffle.Portion, len(d.sources)), int64(0)
	for i, s := range d.sources {
		all[i] = shuffle.Portion{Weight: shares[i], Rows: s.samples, Bytes: s.sampleBytes()}
		if total += all[i].Bytes; buffer > 0 {
			all[i].Bytes = all[i].Rows
		}
	}
	if buffer == 0 { // of rows of one byte
		buffer = size.Resolve(total, total, largest)
	}
	return shuffle.Portions(buffer, all)
}

// bufferRows counts with the largest shares that the sources ever have.
func (d *mixture) bufferRows(size Size, state *shuffle.State) (rows int64) {
	weights := d.weights
	if state != nil {
		weights = d.plannedBy(*state)
	}
	shares, _ := d.shares(weights) // the weights were checked
	for _, n := range d.divideBuffer(shares, shuffle.BufferSize{Rows: size.Rows, Bytes: size.Bytes}, 0) {
		rows += n
	}
	return rows
}

// plannedBy returns the planned weights of a state, without changes during its run. If a change
// replaced the first ones, it returns the weights of the options.
func (d *mixture) plannedBy(s shuffle.State) []shuffle.Weights {
	planned := slices.DeleteFunc(slices.Clone(s.Weights), func(w shuffle.Weights) bool { return w.Set })
	if len(planned) == 0 || planned[0].From > 0 {
		return d.weights
	}
	return planned
}

// parts returns n times the largest share of each source, or n if steps are of one
// source.
func (d *mixture) parts(n int64) []int64 {
	all := slices.Repeat([]int64{n}, len(d.sources))
	if d.options.perSource() {
		return all
	}
	shares, _ := d.shares(d.weights) // the weights were checked
	for i, share := range shares {
		all[i] = mem.MulDiv(n, share, 1<<20) + 1
	}
	return all
}

// shares are the largest shares that the sources ever have, of 2^20 each.
func (d *mixture) shares(weights []shuffle.Weights) ([]int64, error) {
	all := make([]int64, len(d.sources))
	for _, w := range weights {
		r, err := d.ratio(w.Weights)
		if err != nil {
			return nil, err
		}
		for i, share := range r.Weights() {
			all[i] = max(all[i], share)
		}
	}
	return all, nil
}

// ratio is the shares of samples that weights make.
func (d *mixture) ratio(weights []float64) (*shuffle.Ratio, error) {
	if d.tokens == nil {
		return shuffle.NewRatio(weights)
	}
	samples := make([]int64, len(d.sources))
	for i, s := range d.sources {
		samples[i] = s.samples
	}
	return shuffle.NewTokenRatio(weights, samples, d.tokens)
}

// remix makes the order of a state.
func (d *mixture) remix(state shuffle.State) (*shuffle.Mixture, error) {
	if here := d.options.batching(); state.MixState != nil && state.Batching != here {
		return nil, &shuffle.MismatchError{Field: "batching", Saved: string(state.Batching), Here: string(here)}
	}
	if state.MixState == nil || len(state.Sources) != len(d.sources) {
		here, err := d.mix(1, StreamOptions{BatchSize: 1, Tail: d.options.Tail}, 0, 0)
		if err != nil {
			return nil, err
		}
		return nil, state.FitsMixture(here)
	}
	params := make([]shuffle.Params, len(d.sources))
	for i := range d.sources {
		params[i] = state.Sources[i].Params.Of(state.Lanes)
	}
	m, err := d.mixtureAs(params, state.Known(), state.MixtureOptions())
	if err != nil {
		return nil, err
	}
	if err := state.FitsMixture(m); err != nil {
		return nil, err
	}
	return m, nil
}

func (d *mixture) counts(state shuffle.State) map[string]int64 {
	if state.MixState == nil {
		return nil
	}
	m, err := d.remix(state)
	if err != nil {
		return nil
	}
	all := map[string]int64{}
	for i, n := range m.Counts(m.At(state.Epoch, state.Position), nil) {
		all[d.sources[i].name] = n
	}
	return all
}

// savedMix puts the plans of the saved plan together.
func (d *mixture) savedMix(o shuffle.MixtureOptions) (*shuffle.Mixture, error) {
	params := make([]shuffle.Params, len(d.sources))
	for i, s := range d.sources {
		params[i] = *s.options.Plan.Params
	}
	m, err := d.mixtureAs(params, d.weights, o)
	if err != nil {
		return nil, err
	}
	for i, s := range m.Sources() {
		if saved := d.sources[i].options.Plan.Units; s.Plan.UnitsHash() != saved {
			return nil, &SourceError{s.Name, &shuffle.MismatchError{Field: "units", Saved: saved, Here: s.Plan.UnitsHash()}}
		}
	}
	return m, nil
}

// epochCounts returns the samples of an epoch of a mixture, and of each source if they are the
// same in each epoch. unit is the samples of a step of one source, else 1.
func (d *mixture) epochCounts(step int64) (rows int64, counts []int64, err error) {
	o := shuffle.EpochOptions{Stop: d.options.Stop, Size: d.options.EpochSize, Weights: d.weights[0].Weights, Tokens: d.tokens, Step: step, Seed: d.options.Seed}
	if o.Size == 0 {
		o.Counts = d.chosen
	}
	for _, s := range d.sources {
		o.Rows = append(o.Rows, s.samples)
	}
	return shuffle.EpochCounts(o)
}

// rules returns the names of the sources' rules.
func (d *mixture) rules() (names []string) {
	for _, s := range d.sources {
		names = append(names, s.data.Rule)
	}
	return names
}
