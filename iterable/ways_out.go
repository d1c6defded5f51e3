package iterable

import (
	"fmt"
	"math"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// waysOut looks for options under which a reading fits into the memory that a data set has.
type waysOut struct {
	dataset   *Dataset
	batchSize int
	pinned    bool // a saved order has its unit_rows

	// fits reports whether the reading of a data set fits, with a batch size, and the memory that
	// it needs; 0 if it cannot be planned.
	fits func(d *Dataset, batchSize int) (need int64, ok bool)
}

// all are the ways out in words, with options in braces.
func (w waysOut) all() (ways []string) {
	if len(w.dataset.Schema().Fields) > 1 {
		ways = append(ways, "read fewer {Columns}")
	}
	if rows := w.unitRows(); rows > 0 {
		ways = append(ways, fmt.Sprintf("set {UnitRows} to %d", rows))
	}
	if rows := w.batchRows(); rows > 0 {
		ways = append(ways, fmt.Sprintf("set {BatchSize} to %d", rows))
	}
	return ways
}

// unitRows looks for the UnitRows that would fit; 0 if no value does.
func (w waysOut) unitRows() int64 {
	d := w.dataset
	s, err := d.only("")
	if err != nil || w.pinned || s.packing() != nil {
		return 0
	}
	units, err := s.ownUnits()
	if err != nil {
		return 0
	}
	const faster = 4 // than to try halves
	least := int64(math.MaxInt64)
	for rows := units.Largest() / 2; rows > 0; rows /= faster {
		need, ok := w.fits(d.trial(rows, d.memory), w.batchSize)
		if ok {
			return rows
		}
		if need == 0 || need > least { // what each unit takes of its own outweighs the smaller loads
			return 0
		}
		least = need
	}
	return 0
}

// batchRows looks for a batch size that would fit; 0 if no size does.
func (w waysOut) batchRows() int {
	for rows := w.batchSize / 2; rows > 0; rows /= 2 {
		if _, ok := w.fits(w.dataset, rows); ok {
			return rows
		}
	}
	return 0
}

// trial is a plain data set with another UnitRows, or cut for other memory in file order, to be
// planned and not read. Its units share the samples of their row groups evenly.
func (d *Dataset) trial(unitRows, memory int64) *Dataset {
	s, err := d.only("")
	if err != nil || s.packing() != nil {
		return d
	}
	like, err := s.ownUnits()
	if err != nil {
		return d
	}
	o := d.options
	o.UnitRows = unitRows
	t := &source{
		common: s.common, options: s.options, addresses: s.addresses, manifest: s.manifest, data: s.data, bytes: s.bytes, sizes: s.sizes,
		rules: s.rules, reading: s.reading, samples: s.samples, sampled: s.sampled, cutting: make(chan struct{}, 1), units: map[cut]*shuffle.Units{},
		fileMemory: memory, like: like,
	}
	t.options.UnitRows = unitRows
	return d.of(t, o)
}

// share sets the samples of units to their shares of their row groups' samples.
func (d *source) share(units []shuffle.Unit) {
	samples := make([]int64, len(d.data.Groups))
	for _, u := range d.like.All() {
		samples[u.Group] += u.Samples
	}
	for i, u := range units {
		rows := d.data.Groups[u.Group].Rows
		units[i].Samples = mem.MulDiv(samples[u.Group], u.Hi, rows) - mem.MulDiv(samples[u.Group], u.Lo, rows)
	}
}
