package iterable

import "github.com/shardfeed/shardfeed/shuffle"

// single is the blend of one source: its samples.
type single struct{ *source }

func (b single) samples() int64 { return b.source.samples }

func (b single) rule() string { return b.data.Rule }

func (b single) steps(batchSize, worldSize int, tail shuffle.Tail, _ *shuffle.State) (shuffle.Steps, error) {
	if _, err := b.ownUnits(); err != nil { // a saved plan may have others
		return shuffle.Steps{}, err
	}
	return stepsOf(b.samples(), batchSize, worldSize, tail)
}

func (b single) order(worldSize int, o StreamOptions, buffer, memory int64) (order, error) {
	shuffled, seed := b.options.Shuffle, b.options.Seed
	if o.State != nil {
		shuffled, seed = o.State.Shuffle, o.State.Seed
	}
	if !shuffled {
		q, err := b.sequence(o.State)
		return &fileOrder{source: b.source, sequence: q, seed: seed}, err
	}
	p, err := b.planOf(worldSize, o, buffer, memory)
	return &planOrder{source: b.source, plan: p}, err
}

// planOf returns the plan of a state, or of the options.
func (b single) planOf(worldSize int, o StreamOptions, buffer, memory int64) (*shuffle.Plan, error) {
	if o.State != nil {
		return b.resume(*o.State, o.Tail)
	}
	return b.plan(worldSize, o, buffer, memory)
}

func (b single) parts(n int64) []int64 { return []int64{n} }

func (b single) bufferRows(size Size, _ *shuffle.State) int64 {
	return shuffle.BufferSize{Rows: size.Rows, Bytes: size.Bytes}.Resolve(b.samples(), b.sampleBytes(), 0)
}

func (b single) counts(shuffle.State) map[string]int64 { return nil }

func (b single) compare(*contradictions, shuffle.State) {}

// Alone is a source of a mixture as a data set of its own, in file order, under the schema of all.
// What is opened of it is closed before the mixture, whose Close is its own.
func (d *Dataset) Alone(source int) *Dataset {
	o := d.sources[source].options
	o.Shuffle = false
	return d.of(d.sources[source], o)
}

// of returns a data set of one source that shares what d has.
func (d *Dataset) of(s *source, o Options) *Dataset {
	return &Dataset{common: d.common, options: o, sources: []*source{s}, blend: single{s}}
}
