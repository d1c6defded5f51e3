package iterable

import (
	"cmp"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// mix makes the order of several sources that the options ask for from worldSize ranks on. buffer
// is the shuffle buffer in samples of all; 0 leaves it to the options, where memory, if not 0,
// bounds the default. Of so, which has its defaults, the batch size counts where steps are of one
// source.
func (d *Dataset) mix(worldSize int, so StreamOptions, buffer, memory int64) (*shuffle.Mixture, error) {
	steps, err := d.steps(so.BatchSize, worldSize, so.Tail)
	if err != nil {
		return nil, err
	}
	mo := shuffle.MixtureOptions{Seed: d.options.Seed, Batching: d.options.Batching, Tokens: d.tokens}
	step := int64(1)
	if d.perSource() {
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
		if o.Buffer = portions[i]; all[i].Lanes != lanes && !d.perSource() {
			if all[i], err = o.Params(*units[i]); err != nil {
				return nil, err
			}
		}
	}
	return d.mixtureOf(units, all, d.weights, mo)
}

// perSource says that steps are of one source each.
func (d *Dataset) perSource() bool { return d.options.Batching == shuffle.PerSource }

// mixtureAs cuts each source as its params say, and puts the plans together.
func (d *Dataset) mixtureAs(params []shuffle.Params, weights []shuffle.Weights, o shuffle.MixtureOptions) (*shuffle.Mixture, error) {
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
func (d *Dataset) mixtureOf(units []*shuffle.Units, params []shuffle.Params, weights []shuffle.Weights, o shuffle.MixtureOptions) (*shuffle.Mixture, error) {
	all := make([]shuffle.Source, len(d.sources))
	for i, s := range d.sources {
		name := d.options.Sources[i].Name
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
func (d *Dataset) portions(units []*shuffle.Units, worldSize int, o StreamOptions, buffer, memory int64) ([]int64, error) {
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
	return d.divideBuffer(shares, shuffle.BufferSize{Rows: cmp.Or(buffer, size.Rows), Bytes: size.Bytes, Memory: memory, WorldSize: worldSize}, largest), nil
}

// divideBuffer divides a shuffle buffer by the shares of the sources, whose largest units have so
// many bytes.
func (d *Dataset) divideBuffer(shares []int64, size shuffle.BufferSize, largest int64) []int64 {
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

// BufferRows is how many samples a shuffle buffer of so many rows or bytes over all ranks holds.
func (d *Dataset) BufferRows(size Size) (rows int64) { return d.bufferRows(size, d.weights) }

// bufferRows is BufferRows under other weights of the sources.
func (d *Dataset) bufferRows(size Size, weights []shuffle.Weights) (rows int64) {
	buffer := shuffle.BufferSize{Rows: size.Rows, Bytes: size.Bytes}
	if !d.mixed() {
		return buffer.Resolve(d.samples, d.sampleBytes(), 0)
	}
	shares, _ := d.shares(weights) // the weights were checked
	for _, n := range d.divideBuffer(shares, buffer, 0) {
		rows += n
	}
	return rows
}

// shares are the largest shares that the sources ever have, of 2^20 each.
func (d *Dataset) shares(weights []shuffle.Weights) ([]int64, error) {
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
func (d *Dataset) ratio(weights []float64) (*shuffle.Ratio, error) {
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
func (d *Dataset) remix(state shuffle.State) (*shuffle.Mixture, error) {
	if here := d.options.batching(); state.MixState != nil && state.Batching != here {
		return nil, &shuffle.MismatchError{Field: "batching", Saved: string(state.Batching), Here: string(here)}
	}
	if state.MixState == nil || len(state.Sources) != len(d.sources) {
		here, err := d.mix(1, StreamOptions{}.withDefaults(d), 0, 0)
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
