package iterable

import (
	"fmt"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/shuffle"
)

// By how much the variance of a batch of sorted data may exceed a perfect shuffle's before
// its mixing is called poor, and what a larger buffer is to bring it down to.
const (
	poorDeff = 4
	goodDeff = 2
)

// A PoorMixing reports that batches of sorted data would vary much more than with a perfect
// shuffle, and which shuffle buffer would do better.
type PoorMixing struct {
	GlobalBatch int64
	Deff        float64 // see shuffle.Quality
	Buffer      Size    // the ShuffleBuffer to set
	BufferDeff  float64 // with it
}

func (m *PoorMixing) String() string { return m.Spelled(option.Go) }

// Spelled is the warning with options as name spells them.
func (m *PoorMixing) Spelled(name func(field string) string) string {
	return option.Spell(m.text(), name)
}

func (m *PoorMixing) text() string {
	return fmt.Sprintf("if the rows are sorted, a global batch of %d rows varies %.3g times as much as one of a perfect shuffle (deff): "+
		"a {ShuffleBuffer} of %v would make it %.2g", m.GlobalBatch, m.Deff, m.Buffer, m.BufferDeff)
}

// poorMixing returns the warning of a plan, or nil.
func (d *source) poorMixing(p *shuffle.Plan, worldSize int, globalBatch int64) (*PoorMixing, error) {
	q := p.Quality(globalBatch)
	if q.Deff <= poorDeff {
		return nil, nil
	}
	m := &PoorMixing{GlobalBatch: globalBatch, Deff: q.Deff}
	mix := func(mebibytes int64) (good, whole bool, err error) {
		m.Buffer = Size{Bytes: mebibytes << 20}
		if worldSize > 1 {
			m.Buffer.Per = PerRank
		}
		params, err := d.paramsWith(p, worldSize, m.Buffer)
		if err != nil {
			return false, false, err
		}
		m.BufferDeff = p.QualityOf(params, globalBatch).Deff
		return m.BufferDeff <= goodDeff, params.Buffer >= p.Rows(), nil
	}
	return m, leastSize(mix)
}

// leastSize looks for the least number of MiB that is good, and tries it last. All from the first
// number on that is whole are good.
func leastSize(try func(mebibytes int64) (good, whole bool, err error)) error {
	few, enough := int64(0), int64(1)
	for {
		good, whole, err := try(enough)
		if err != nil {
			return err
		}
		if good || whole || enough >= option.MaxBytes>>20 {
			break
		}
		few, enough = enough, 2*enough
	}
	for enough-few > 1 {
		middle := few + (enough-few)/2
		good, _, err := try(middle)
		if err != nil {
			return err
		}
		if good {
			enough = middle
		} else {
			few = middle
		}
	}
	_, _, err := try(enough)
	return err
}

// paramsWith returns the parameters of a plan with another shuffle buffer.
func (d *source) paramsWith(p *shuffle.Plan, worldSize int, buffer Size) (shuffle.Params, error) {
	size, err := buffer.total(worldSize, 0)
	if err != nil {
		return shuffle.Params{}, err
	}
	o := d.options.planOptions(worldSize)
	if d.options.Plan != nil { // it pins what the options do not say
		params := p.Params()
		o.Lanes, o.Start, o.Spread, o.Assign, o.UnitRows = params.Lanes, params.Start, params.Spread, params.Assign, params.UnitRows
	}
	o.Tail = p.Params().Tail
	o.Buffer = size.Resolve(d.samples, d.sampleBytes(), 0)
	return o.Params(*p.Units())
}
