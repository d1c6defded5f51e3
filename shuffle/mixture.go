package shuffle

import (
	"errors"
	"slices"
	"sync"
)

const (
	maxSources = maxWeights
	maxChanges = 64 // of the weights

	// maxMixed bounds the samples of all epochs of a mixture, so that positions and what is
	// computed of them stay in 64 bits.
	maxMixed = 1 << 62
)

// Stop is how long an epoch of a mixture is.
type Stop string

const (
	StopFirst Stop = "first" // until the first source has given each of its samples (the default)
	StopAll   Stop = "all"   // until each source has
)

// Batching selects the sources of a step's samples.
type Batching string

const (
	Stratified Batching = "stratified" // each step of all sources, by weight (the default)
	PerSource  Batching = "per_source" // each step of one source; the steps are divided by weight
)

// Weights are the weights of a mixture's sources from one of its samples on. In JSON they are
// [from, [weight, ..]], or [from, [weight, ..], true] if Set.
type Weights struct {
	From    int64 // sample of the mixture, counted over all its epochs
	Weights []float64

	// Set marks weights that were not known before sample From: what the passes over sources have
	// left there is divided among the lanes again.
	Set bool
}

// A Source is a named plan. Its parameters have the tail Carry, and its seed comes from
// [SourceSeed].
type Source struct {
	Name string
	Plan *Plan
}

// SourceSeed returns the seed of a mixture's source, so that sources with the same data have
// different orders.
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
	all     *MixLane          // all samples, or all steps
	each    func() []*MixLane // by slot

	unset *Mixture // the mixture without the last set weights, or nil
	setAt int64    // first sample of the set weights
}

// MixtureOptions configure a [Mixture] beside its sources and weights.
type MixtureOptions struct {
	Rows int64 // N, the samples of an epoch; under PerSource whole steps
	Seed uint64

	Batching    Batching // "" is Stratified
	GlobalBatch int64    // G under PerSource: the samples of each step

	// Counts are the samples of each source in an epoch, N together, while the first weights hold.
	// nil derives them from the weights.
	Counts []int64

	// Tokens counts the tokens in an epoch of each source if weights are of tokens. nil means
	// weights of samples.
	Tokens []int64
}

// A mixPart is the shares from a sample on.
type mixPart struct {
	from int64
	set  bool
	*deal
}

// NewMixture combines sources. All plans must have the same number of lanes, except with PerSource.
// weights are ascending and the first applies from sample 0.
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
	for i, w := range weights {
		shares, err := o.shares(sources, w.Weights)
		if err != nil {
			return nil, err
		}
		if i == 0 && o.Counts != nil {
			shares = o.steps()
		}
		m.parts = append(m.parts, mixPart{from: w.From, set: w.Set, deal: newDeal(shares, over, o.Seed)})
	}
	return m.of(m.parts), nil
}

// of is the mixture with these parts.
func (m *Mixture) of(parts []mixPart) *Mixture {
	out := *m
	out.parts = make([]mixPart, 0, len(parts))
	for i, p := range parts {
		if i+1 == len(parts) || parts[i+1].from > p.from { // set weights replace others at the same sample
			out.parts = append(out.parts, p)
		}
	}
	first := func(x int64) int64 { return x }
	if m.options.Batching == PerSource {
		first = out.Step
	}
	out.all = out.lane(0, 1, first)
	out.each = sync.OnceValue(out.makeLanes)
	for i := len(parts) - 1; i > 0; i-- {
		if parts[i].set {
			out.unset, out.setAt = m.of(slices.Delete(slices.Clone(parts), i, i+1)), parts[i].from
			break
		}
	}
	return &out
}

func (o MixtureOptions) check(sources int) error {
	switch {
	case o.Rows < 1 || o.Rows > maxMixed:
		return refuse("epoch_size", "must be from 1 to %d samples, got %d", int64(maxMixed), o.Rows)
	case o.Batching != Stratified && o.Batching != PerSource:
		return refuse("batching", "must be %q or %q, got %q", Stratified, PerSource, o.Batching)
	case o.Batching == PerSource && (o.GlobalBatch < 1 || o.Rows%o.GlobalBatch != 0):
		return refuse("rows", "must make whole steps of %[3]d under batching %[1]q, got %[2]d", PerSource, o.Rows, o.GlobalBatch)
	case o.Tokens != nil && len(o.Tokens) != sources:
		return refuse("tokens", "must have one count for each of %d sources, got %d", sources, len(o.Tokens))
	}
	return o.checkCounts(sources)
}

// checkCounts reports counts that do not make up an epoch.
func (o MixtureOptions) checkCounts(sources int) error {
	if o.Counts == nil {
		return nil
	}
	left := o.Rows
	for _, n := range o.Counts {
		if n < 0 || n > left || o.Batching == PerSource && n%max(1, o.GlobalBatch) != 0 {
			left = -1
			break
		}
		left -= n
	}
	if len(o.Counts) != sources || left != 0 {
		return refuse("counts", "must be of each of %d sources, whole steps under batching %q, and %d together, got %v", sources, PerSource, o.Rows, o.Counts)
	}
	return nil
}

// steps returns the counts in the unit that is dealt: steps under PerSource, else samples.
func (o MixtureOptions) steps() []int64 {
	if o.Batching != PerSource {
		return o.Counts
	}
	steps := make([]int64, len(o.Counts))
	for d, n := range o.Counts {
		steps[d] = n / o.GlobalBatch
	}
	return steps
}

// shares of 2^20 samples that weights make.
func (o MixtureOptions) shares(sources []Source, weights []float64) ([]int64, error) {
	rows := make([]int64, len(sources))
	for d, s := range sources {
		if rows[d] = s.Plan.Rows(); weights[d] > 0 && rows[d] == 0 {
			return nil, refuse("sources", "%q has no rows; leave it out", s.Name)
		}
		if o.Tokens != nil && weights[d] > 0 && o.Tokens[d] < 1 {
			return nil, refuse("tokens", "source %q has no tokens, so it cannot get a share; leave it out", s.Name)
		}
	}
	r, err := NewRatio(weights)
	if o.Tokens != nil {
		r, err = NewTokenRatio(weights, rows, o.Tokens)
	}
	if err != nil {
		return nil, err
	}
	return r.weights, nil
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

// checkChanges checks the changes of weights against the number of sources.
func checkChanges(weights []Weights, sources int) error {
	if len(weights) == 0 || len(weights) > maxChanges {
		return refuse("weights", "must change at most %d times, got %d", maxChanges-1, len(weights)-1)
	}
	var errs []error
	for i, w := range weights {
		switch {
		case i == 0 && w.From != 0:
			errs = append(errs, refuse("weights", "must start at sample 0, got %d", w.From))
		case i > 0 && (w.From < weights[i-1].From || w.From == weights[i-1].From && !w.Set) || w.From > maxMixed:
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

// Lanes is L, the number of lanes of the mixture and of each plan, or 0 under PerSource, where
// plans differ.
func (m *Mixture) Lanes() int { return m.lanes }

// At converts a position of an epoch to a sample counted over all epochs.
func (m *Mixture) At(epoch uint64, pos int64) int64 {
	n := capped(mulAddDiv(epoch, uint64(m.options.Rows), 0, 1))
	return int64(min(n, maxMixed)) + pos
}

// Share of a source at a sample: weight of all.
func (m *Mixture) Share(source int, x int64) (weight, all int64) {
	at := 0
	for at+1 < len(m.parts) && m.parts[at+1].from <= x {
		at++
	}
	return int64(m.parts[at].weight(source)), int64(m.parts[at].total)
}

// View of a worker on the mixture; under PerSource there is one for each source's plan.
func (m *Mixture) View(w Worker) (*View, error) { return m.sources[0].Plan.View(w) }

// Counts fills dst, grown as needed, with the number of samples of each source among the mixture's
// first x; under PerSource x must be at a whole step.
func (m *Mixture) Counts(x int64, dst []int64) []int64 {
	if m.options.Batching != PerSource {
		return m.all.Counts(x, dst)
	}
	dst = m.all.Counts(m.Step(x), dst)
	for d := range dst {
		dst[d] *= m.options.GlobalBatch
	}
	return dst
}

// Step returns the number of the first step that starts at or after sample x, under PerSource.
func (m *Mixture) Step(x int64) int64 {
	n := x / m.options.GlobalBatch
	if x%m.options.GlobalBatch > 0 {
		n++
	}
	return n
}
