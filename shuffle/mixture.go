package shuffle

import (
	"errors"
	"math"
	"slices"
)

const (
	maxSources = maxWeights
	maxChanges = 64 // of the weights

	// maxMixed bounds the samples of all epochs of a mixture, so that positions and what is computed
	// of them stay in 64 bits.
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
	rows    int64 // of an epoch
	seed    uint64
	lanes   int
	parts   []mixPart
}

// A mixPart is the shares from a sample on.
type mixPart struct {
	from int64
	*mix
}

// NewMixture of sources whose plans have the same number of lanes. weights are ascending, the first
// from 0 on. rows is N, the samples of an epoch.
func NewMixture(sources []Source, weights []Weights, rows int64, seed uint64) (*Mixture, error) {
	if err := checkSources(sources, seed); err != nil {
		return nil, err
	}
	if err := checkChanges(weights, len(sources)); err != nil {
		return nil, err
	}
	if rows < 1 || rows > maxMixed {
		return nil, refuse("epoch_size", "must be from 1 to %d samples, got %d", int64(maxMixed), rows)
	}
	m := &Mixture{sources: sources, weights: weights, rows: rows, seed: seed, lanes: sources[0].Plan.params.Lanes}
	for _, w := range weights {
		r, err := NewRatio(w.Weights)
		if err != nil {
			return nil, err
		}
		for d, s := range sources {
			if r.weights[d] > 0 && s.Plan.Rows() == 0 {
				return nil, refuse("sources", "%q has no rows; leave it out", s.Name)
			}
		}
		m.parts = append(m.parts, mixPart{from: w.From, mix: r.over(m.lanes, seed)})
	}
	return m, nil
}

func checkSources(sources []Source, seed uint64) error {
	if len(sources) == 0 || len(sources) > maxSources {
		return refuse("sources", "must be 1 to %d, got %d", maxSources, len(sources))
	}
	seen := map[string]bool{}
	for d, s := range sources {
		p := s.Plan.params
		switch {
		case s.Name == "" || seen[s.Name]:
			return refuse("sources", "must have a name each, got %q for source %d", s.Name, d)
		case p.Lanes != sources[0].Plan.params.Lanes:
			return refuse("lanes", "must be the same for all sources, got %d for %q and %d for %q", sources[0].Plan.params.Lanes, sources[0].Name, p.Lanes, s.Name)
		case p.Tail != Carry || s.Plan.seed != SourceSeed(seed, d):
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

// Rows is N, the samples of an epoch.
func (m *Mixture) Rows() int64 { return m.rows }

// Lanes is L, those of each plan and of the mixture.
func (m *Mixture) Lanes() int { return m.lanes }

// At is a position of an epoch counted over all epochs.
func (m *Mixture) At(epoch uint64, pos int64) int64 {
	n := capped(mulAddDiv(epoch, uint64(m.rows), 0, 1))
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

// View of a worker on the mixture.
func (m *Mixture) View(w Worker) (*View, error) { return m.sources[0].Plan.View(w) }

// Pass is where a sample of a source in the lane at a slot lies, its number counted over all passes
// over the source: the pass, which is an epoch of the source's plan, and the row of that epoch's
// lane at the slot.
func (m *Mixture) Pass(source, slot int, sample int64) (epoch uint64, row int64) {
	n := m.sources[source].Plan.Rows()
	e := (sample*int64(m.lanes) + int64(slot)) / n
	return uint64(e), sample - m.PassFirst(source, slot, uint64(e))
}

// PassFirst is how many samples of a source the lane at a slot has before an epoch of its plan.
func (m *Mixture) PassFirst(source, slot int, epoch uint64) int64 {
	return rowsBefore(int64(epoch)*m.sources[source].Plan.Rows(), slot, m.lanes)
}

// Counts fills dst, grown as needed, with how many of the mixture's first x samples each source
// has.
func (m *Mixture) Counts(x int64, dst []int64) []int64 {
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
// samples x of the mixture with x mod L = i; its n-th is x = n*L + i. It is immutable and safe for
// concurrent use.
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
	l := &MixLane{sources: len(m.sources)}
	for i, p := range m.parts {
		end := int64(Never)
		if i+1 < len(m.parts) {
			end = rowsBefore(m.parts[i+1].from, slot, m.lanes)
		}
		l.parts = append(l.parts, lanePart{from: rowsBefore(p.from, slot, m.lanes), end: end, laneMix: p.lane(slot)})
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

// EpochRows is the samples of an epoch of a mixture of sources that have so many each: until the
// first, or each, of those with a weight has given all of them, within a sample of each lane.
func (r *Ratio) EpochRows(stop Stop, rows []int64) (int64, error) {
	n := int64(math.MaxInt64)
	if stop == StopAll {
		n = 0
	}
	for d, w := range r.weights {
		switch {
		case w == 0:
		case stop == StopAll:
			n = max(n, int64(mulAddDiv(uint64(rows[d]), wholeWeight, uint64(w)-1, uint64(w))))
		default:
			n = min(n, mulDiv(rows[d], wholeWeight, w))
		}
	}
	if n < 1 || n > maxMixed {
		return 0, refuse("stop", "%q makes epochs of %d samples, it must be 1 to %d: give epoch_size", stop, n, int64(maxMixed))
	}
	return n, nil
}

// A Portion is what [Portions] gives a buffer to.
type Portion struct {
	Weight int64 // of 2^20
	Rows   int64 // samples
	Bytes  int64 // of all of them; 1 a row divides a buffer of rows
}

// Portions divides a shuffle buffer among sources, in samples: in proportion to their weights, so
// that samples of all stay equally long in it. None gets more than it has, and what is left goes
// round again.
func Portions(size int64, all []Portion) []int64 {
	out := make([]int64, len(all))
	full := make([]bool, len(all))
	for again := true; again; {
		left, each := size, int64(0) // what those take that are not full, of 2^20 samples
		for d, p := range all {
			if full[d] {
				left -= out[d] * p.sampleBytes()
			} else {
				each += p.Weight * p.sampleBytes()
			}
		}
		again = false
		for d, p := range all {
			if full[d] {
				continue
			}
			out[d] = max(1, mulDiv(max(0, left), p.Weight, max(1, each)))
			if out[d] >= p.Rows {
				out[d], full[d], again = max(1, p.Rows), true, true
			}
		}
	}
	return out
}

func (p Portion) sampleBytes() int64 { return max(1, p.Bytes/max(1, p.Rows)) }
