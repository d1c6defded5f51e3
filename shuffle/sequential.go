package shuffle

import "sort"

// Sequence is the order without shuffle: position p is the p-th sample of the units. It is
// immutable and safe for concurrent use.
type Sequence struct {
	units    Units
	starts   []int64 // first position of unit i; one more than units
	content  string
	rule     string
	snapshot string
	now      string
}

// NewSequence makes the sequence of units as CutUnits makes them. It keeps them, and they must not
// change afterwards.
func NewSequence(m *Manifest, units Units) (*Sequence, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	if err := checkUnits(m, units); err != nil {
		return nil, err
	}
	s := &Sequence{units: units, starts: make([]int64, units.Len()+1), content: m.Only(m.Sampled(units)).Content(), rule: m.Rule, snapshot: m.Snapshot, now: m.Now}
	for i, u := range units.All() {
		s.starts[i+1] = s.starts[i] + u.Samples
	}
	return s, nil
}

// Rows is N, the samples of an epoch.
func (s *Sequence) Rows() int64 { return s.starts[s.units.Len()] }

// Units of the sequence, in order.
func (s *Sequence) Units() *Units { return &s.units }

// Start is the position of the first sample of unit i.
func (s *Sequence) Start(i int) int64 { return s.starts[i] }

// UnitAt is the unit that holds position p, which must be in [0, Rows).
func (s *Sequence) UnitAt(p int64) int {
	return sort.Search(s.units.Len(), func(i int) bool { return s.starts[i+1] > p })
}

// Spans calls yield with the spans that make the positions [lo, hi), in order.
func (s *Sequence) Spans(lo, hi int64, yield func(Span)) {
	if lo >= hi {
		return
	}
	for i := s.UnitAt(lo); i < s.units.Len() && s.starts[i] < hi; i++ {
		from, to := max(lo, s.starts[i])-s.starts[i], min(hi, s.starts[i+1])-s.starts[i]
		if from < to {
			yield(Span{Unit: i, From: from, To: to})
		}
	}
}

// Block returns the worker's part [lo, hi) of the step [pos, pos+rows): its rank's of WorldSize
// equal blocks, and its own of Workers equal blocks of that. Block i of n of c rows is
// [floor(c*i/n), floor(c*(i+1)/n)).
func (w Worker) Block(pos, rows int64) (lo, hi int64) {
	w = w.withDefaults()
	cutBlock := func(lo, hi int64, i, n int) (int64, int64) {
		return lo + mulDiv(hi-lo, int64(i), int64(n)), lo + mulDiv(hi-lo, int64(i)+1, int64(n))
	}
	lo, hi = cutBlock(pos, pos+rows, w.Rank, w.WorldSize)
	return cutBlock(lo, hi, w.Worker, w.Workers)
}
