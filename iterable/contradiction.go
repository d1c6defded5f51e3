package iterable

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed/shuffle"
)

// A Contradiction is an option that differs from what a state was taken with.
type Contradiction struct {
	Field string // of Options; Sources are their weights
	Saved string // in the state, which a stream follows
	Here  string
}

// Contradictions lists the options that are set and differ from a state that fits the data. Streams
// follow the state. A ShuffleBuffer per rank or node counts at the start of a run,
// and a stream takes its own Tail.
func (d *Dataset) Contradictions(s shuffle.State) []Contradiction {
	var all contradictions
	o := d.options
	compare(&all, "Seed", s.Seed, o.Seed)
	compare(&all, "Shuffle", s.Shuffle, o.Shuffle)
	params := s.KeptParams()
	if len(params) == 0 {
		return all
	}
	compare(&all, "Lanes", params[0].Lanes, cmp.Or(o.Lanes, params[0].Lanes))
	compare(&all, "UnitRows", params[0].UnitRows, cmp.Or(o.UnitRows, params[0].UnitRows))
	compare(&all, "Start", params[0].Start, cmp.Or(o.Start, params[0].Start))
	compare(&all, "Spread", params[0].Spread, cmp.Or(o.Spread, params[0].Spread))
	compare(&all, "Assign", params[0].Assign, cmp.Or(o.Assign, params[0].Assign))
	if size := o.ShuffleBuffer; size != (Size{}) && size.Per == "" {
		compare(&all, "ShuffleBuffer", rowsText(s.KeptBuffer()), rowsText(d.blend.bufferRows(size, &s)))
	}
	d.blend.compare(&all, s)
	return all
}

type contradictions []Contradiction

func compare[T comparable](to *contradictions, field string, saved, here T) {
	if saved != here {
		*to = append(*to, Contradiction{field, fmt.Sprint(saved), fmt.Sprint(here)})
	}
}

func (d *mixture) compare(to *contradictions, state shuffle.State) {
	d.compareWeights(to, state)
	d.compareEpochs(to, state)
}

// compareEpochs compares the length of epochs, which is all that a Stop decides.
func (d *mixture) compareEpochs(to *contradictions, s shuffle.State) {
	step := int64(1)
	if s.Batching == shuffle.PerSource {
		step = s.GlobalBatch
	}
	rows, _, err := d.epochCounts(step)
	switch {
	case err != nil, rows == s.Rows:
	case d.options.EpochSize > 0:
		compare(to, "EpochSize", s.Rows, rows)
	default:
		compare(to, "Stop", "epochs of "+rowsText(s.Rows), "epochs of "+rowsText(rows))
	}
}

// compareWeights compares the planned weights.
func (d *mixture) compareWeights(to *contradictions, s shuffle.State) {
	compare(to, "WeightsIn", cmp.Or(s.WeightsIn, InSamples), d.options.unit())
	planned := d.plannedBy(s)
	names := d.options.sourceNames()
	compare(to, "Sources", weightsText(names, planned[:1]), weightsText(names, d.weights[:1]))
	if len(d.options.Curriculum) > 0 {
		compare(to, "Curriculum", weightsText(names, planned[1:]), weightsText(names, d.weights[1:]))
	}
}

// weightsText returns weights such as "web=7, code=3", by the samples from which they count.
func weightsText(names []string, changes []shuffle.Weights) string {
	var all []string
	for _, w := range changes {
		var of []string
		for i, name := range names {
			of = append(of, fmt.Sprintf("%s=%v", name, w.Weights[i]))
		}
		text := strings.Join(of, ", ")
		if w.From > 0 {
			text += fmt.Sprintf(" from sample %d on", w.From)
		}
		all = append(all, text)
	}
	return cmp.Or(strings.Join(all, "; "), "none")
}

func rowsText(n int64) string { return fmt.Sprintf("%d rows", n) }
