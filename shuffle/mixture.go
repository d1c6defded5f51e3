package shuffle

import (
	"errors"
	"math"
	"slices"
)

const (
	maxSources = maxWeights
	maxChanges = 64 // of the weights

	// maxMixed bounds the samples of all epochs of a mixture, so that positions and what is
	// computed of them stay in 64 bits.
	maxMixed = 1 << 62
)

// Never is the lane row of a sample that never comes, because its source has no weight any more.
const Never = math.MaxInt64

// Stop is how long an epoch of a mixture is.
type Stop string

const (
	StopFirst Stop = "first" // until the first source has given each of its samples (the default)
	StopAll   Stop = "all"   // until each source has
)

// Batching is of which sources a step has samples.
type Batching string

const (
	Stratified Batching = "stratified" // each step of all sources, by weight (the default)
	PerSource  Batching = "per_source" // each step of one source; the steps are divided by weight
)

// Weights are the weights of a mixture's sources from one of its samples on. In JSON they are
// [from, [weight, ..]].
type Weights struct {
	From    int64 // sample of the mixture, counted over all its epochs
	Weights []float64
}

// A Source is a plan by name. Its parameters have the tail Carry, and its seed is that of
// [SourceSeed].
type Source struct {
	Name string
	Plan *Plan
}

// SourceSeed is the seed of a mixture's source by its number, so that sources of one data have
// orders of their own.
func SourceSeed(seed uint64, source int) uint64 {
	r := newRNG(domSource, seed, uint64(source))
	return r.uint64()
}

// Mixture is the order of several plans by weight. It has no end, and an epoch of it is a number of
// its samples: what the sources have in turn follows from the sample's number among all epochs. See
// the package documentation. It is immutable and safe for concurrent use.
type Mixture struct {
	sources []Source
	weights []Weights
	options MixtureOptions
	lanes   int // 0 under PerSource: each source has its own
	parts   []mixPart
}

// MixtureOptions are what a mixture has besides sources and weights.
type MixtureOptions struct {
	Rows int64 // N, the samples of an epoch; under PerSource those of whole steps
	Seed uint64

	Batching    Batching // "" is Stratified
	GlobalBatch int64    // G under PerSource: the samples of each step

	// Tokens has how many tokens the samples of each source have in an epoch of it, where weights
	// are of tokens. nil: weights are of samples.
	Tokens []int64
}

// A mixPart is the shares from a sample on.
type mixPart struct {
	from int64
	*mix
}

// NewMixture of sources. Their plans have the same number of lanes, but under PerSource. weights
// are ascending, the first from 0 on.
func NewMixture(sources []Source, weights []Weights, o MixtureOptions) (*Mixture, error) {
	if o.Batching == "" {
		o.Batching = Stratified
	}
	if err := o.check(len(sources)); err != nil {
		return nil, err
	}
	if err := checkSources(sources, o); err != nil {
		return nil, err
	}
	if err := checkChanges(weights, len(sources)); err != nil {
		return nil, err
	}
	m := &Mixture{sources: sources, weights: weights, options: o, lanes: sources[0].Plan.params.Lanes}
	over := m.lanes
	if o.Batching == PerSource {
		m.lanes, over = 0, 1
	}
	for _, w := range weights {
		r, err := o.ratio(sources, w.Weights)
		if err != nil {
			return nil, err
		}
		m.parts = append(m.parts, mixPart{from: w.From, mix: r.over(over, o.Seed)})
	}
	return m, nil
}

func (o MixtureOptions) check(sources int) error {
	switch {
	case o.Rows < 1 || o.Rows > maxMixed:
		return refuse("epoch_size", "must be from 1 to %d samples, got %d", int64(maxMixed), o.Rows)
	case o.Batching != Stratified && o.Batching != PerSource:
		return refuse("batching", "must be %q or %q, got %q", Stratified, PerSource, o.Batching)
	case o.Batching == PerSource && (o.GlobalBatch < 1 || o.Rows%o.GlobalBatch != 0):
		return refuse("rows", "must be those of whole steps under batching %q, got %d in steps of %d", PerSource, o.Rows, o.GlobalBatch)
	case o.Tokens != nil && len(o.Tokens) != sources:
		return refuse("tokens", "must be those of each of %d sources, got %d", sources, len(o.Tokens))
	}
	return nil
}

// ratio is the shares of samples that weights make.
func (o MixtureOptions) ratio(sources []Source, weights []float64) (*Ratio, error) {
	rows := make([]int64, len(sources))
	for d, s := range sources {
		if rows[d] = s.Plan.Rows(); weights[d] > 0 && rows[d] == 0 {
			return nil, refuse("sources", "%q has no rows; leave it out", s.Name)
		}
		if o.Tokens != nil && weights[d] > 0 && o.Tokens[d] < 1 {
			return nil, refuse("tokens", "%q has none, so no share of tokens can be of it; leave it out", s.Name)
		}
	}
	if o.Tokens == nil {
		return NewRatio(weights)
	}
	return NewTokenRatio(weights, rows, o.Tokens)
}

func checkSources(sources []Source, o MixtureOptions) error {
	if len(sources) == 0 || len(sources) > maxSources {
		return refuse("sources", "must be 1 to %d, got %d", maxSources, len(sources))
	}
	seen := map[string]bool{}
	for d, s := range sources {
		p := s.Plan.params
		switch {
		case s.Name == "" || seen[s.Name]:
			return refuse("sources", "must have a name each, got %q for source %d", s.Name, d)
		case p.Lanes != sources[0].Plan.params.Lanes && o.Batching == Stratified:
			return refuse("lanes", "must be the same for all sources, got %d for %q and %d for %q", sources[0].Plan.params.Lanes, sources[0].Name, p.Lanes, s.Name)
		case p.Tail != Carry || s.Plan.seed != SourceSeed(o.Seed, d):
			return refuse("sources", "%q has no plan of a mixture", s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}

// checkChanges says whether weights are those of so many sources.
func checkChanges(weights []Weights, sources int) error {
	if len(weights) == 0 || len(weights) > maxChanges {
		return refuse("weights", "must change at most %d times, got %d", maxChanges-1, len(weights)-1)
	}
	var errs []error
	for i, w := range weights {
		switch {
		case i == 0 && w.From != 0:
			errs = append(errs, refuse("weights", "must begin at sample 0, got %d", w.From))
		case i > 0 && w.From <= weights[i-1].From || w.From > maxMixed:
			errs = append(errs, refuse("weights", "must be from ascending samples on, got %d after %d", w.From, weights[i-1].From))
		}
		if len(w.Weights) != sources {
			errs = append(errs, refuse("weights", "must be one for each of %d sources, got %d from sample %d on", sources, len(w.Weights), w.From))
		} else if err := checkWeights(w.Weights); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Sources of the mixture, in order.
func (m *Mixture) Sources() []Source { return m.sources }

// Options of the mixture.
func (m *Mixture) Options() MixtureOptions { return m.options }

// Rows is N, the samples of an epoch.
func (m *Mixture) Rows() int64 { return m.options.Rows }

// Lanes is L, those of each plan and of the mixture; 0 under PerSource, where each plan has its
// own.
func (m *Mixture) Lanes() int { return m.lanes }

// At is a position of an epoch counted over all epochs.
func (m *Mixture) At(epoch uint64, pos int64) int64 {
	n := capped(mulAddDiv(epoch, uint64(m.options.Rows), 0, 1))
	return int64(min(n, maxMixed)) + pos
}

// Ratio is the shares from a sample on.
func (m *Mixture) Ratio(x int64) *Ratio {
	at := 0
	for at+1 < len(m.parts) && m.parts[at+1].from <= x {
		at++
	}
	return m.parts[at].Ratio
}

// View of a worker on the mixture; under PerSource there is one for each source's plan.
func (m *Mixture) View(w Worker) (*View, error) { return m.sources[0].Plan.View(w) }

// Pass is where a sample of a source in the lane at a slot lies, its number counted over all passes
// over the source: the pass, which is an epoch of the source's plan, and the row of that epoch's
// lane at the slot.
func (m *Mixture) Pass(source, slot int, sample int64) (epoch uint64, row int64) {
	p := m.sources[source].Plan
	e := (sample*int64(p.params.Lanes) + int64(slot)) / p.Rows()
	return uint64(e), sample - m.PassFirst(source, slot, uint64(e))
}

// PassFirst is how many samples of a source the lane at a slot has before an epoch of its plan.
func (m *Mixture) PassFirst(source, slot int, epoch uint64) int64 {
	p := m.sources[source].Plan
	return rowsBefore(int64(epoch)*p.Rows(), slot, p.params.Lanes)
}

// Counts fills dst, grown as needed, with how many of the mixture's first x samples each source
// has; under PerSource x is that of a whole step.
func (m *Mixture) Counts(x int64, dst []int64) []int64 {
	if m.options.Batching == PerSource {
		dst = m.Steps().Counts(m.Step(x), dst)
		for d := range dst {
			dst[d] *= m.options.GlobalBatch
		}
		return dst
	}
	var lane []int64
	dst = append(dst[:0], make([]int64, len(m.sources))...)
	for slot := range m.lanes {
		lane = m.Lane(slot).Counts(rowsBefore(x, slot, m.lanes), lane)
		for d, n := range lane {
			dst[d] += n
		}
	}
	return dst
}

// A MixLane says of which source each sample of a lane of a mixture is. The lane at slot i has the
// samples x of the mixture with x mod L = i; its n-th is x = n*L + i. Under PerSource there is one,
// and it says of which source each step is: what is said of samples here then holds of steps. It is
// immutable and safe for concurrent use.
type MixLane struct {
	parts   []lanePart
	sources int
}

// A lanePart is the shares from a row of the lane on.
type lanePart struct {
	from, end int64
	laneMix
}

// Lane at a slot.
func (m *Mixture) Lane(slot int) *MixLane {
	return m.lane(slot, func(x int64) int64 { return rowsBefore(x, slot, m.lanes) })
}

// Steps says of which source each step is, under PerSource.
func (m *Mixture) Steps() *MixLane { return m.lane(0, m.Step) }

// Step is the number of the first step that begins at sample x or later, under PerSource.
func (m *Mixture) Step(x int64) int64 {
	n := x / m.options.GlobalBatch
	if x%m.options.GlobalBatch > 0 {
		n++
	}
	return n
}

// lane that has so many rows before a sample of the mixture.
func (m *Mixture) lane(slot int, before func(x int64) int64) *MixLane {
	l := &MixLane{sources: len(m.sources)}
	for i, p := range m.parts {
		end := int64(Never)
		if i+1 < len(m.parts) {
			end = before(m.parts[i+1].from)
		}
		l.parts = append(l.parts, lanePart{from: before(p.from), end: end, laneMix: p.lane(slot)})
	}
	return l
}

// Counts fills dst, grown as needed, with how many of the lane's first n samples each source has.
func (l *MixLane) Counts(n int64, dst []int64) []int64 {
	dst = l.parts[0].counts(min(n, l.parts[0].end), dst, l.sources)
	var more []int64
	for _, p := range l.parts[1:] {
		if n <= p.from {
			break
		}
		more = p.counts(min(n, p.end)-p.from, more, l.sources)
		for d, c := range more {
			dst[d] += c
		}
	}
	return dst
}

// Row is the lane row at which a sample of a source comes, its number counted over all passes, or
// [Never].
func (l *MixLane) Row(source int, sample int64) int64 {
	for _, p := range l.parts {
		if !p.has(source) {
			continue
		}
		if p.end == Never {
			return int64(min(uint64(p.from)+uint64(p.least(source, sample)-1), Never))
		}
		if n := p.of(source, p.end-p.from); sample >= n {
			sample -= n
			continue
		}
		return p.from + p.least(source, sample) - 1
	}
	return Never
}

// has says that an item has a weight above 0.
func (l laneMix) has(item int) bool {
	return slices.ContainsFunc(l.levels, func(v level) bool { return v.item == item })
}

// of is how many of the lane's first n samples an item has.
func (l laneMix) of(item int, n int64) int64 {
	k := uint64(n)
	for j, v := range l.levels {
		next := mulAddDiv(k, v.rest-v.weight, l.phase(j), v.rest)
		if v.item == item {
			return int64(k - next)
		}
		k = next
	}
	return 0
}

// A MixWalk tells the sources of a lane's samples one after the other.
type MixWalk struct {
	lane *MixLane
	walk mixWalk
	part int
	row  int64
}

// Walk from a row of the lane on.
func (l *MixLane) Walk(row int64) *MixWalk {
	w := &MixWalk{lane: l, row: row}
	w.enter()
	return w
}

// enter finds the part that the next row is of.
func (w *MixWalk) enter() {
	for w.lane.parts[w.part].end <= w.row {
		w.part++
	}
	p := w.lane.parts[w.part]
	w.walk = p.walk(w.row - p.from)
}

// Row is that of the next sample.
func (w *MixWalk) Row() int64 { return w.row }

// Next is the source of the next sample.
func (w *MixWalk) Next() int {
	if w.row == w.lane.parts[w.part].end {
		w.enter()
	}
	w.row++
	return w.walk.next()
}
