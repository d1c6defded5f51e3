package rule

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A Split divides the rows of a data set into parts, of which one is read. Parts are of all rows,
// before any filter, so they stay disjoint whatever each of them filters. The zero value keeps all
// rows.
type Split struct {
	Parts     map[string]float64 // weight of each part, by name; nil is one part of all rows
	Part      string             // the part that is read
	Subsample float64            // of the part's rows, from 0.000001 to 1; 0 is 1
	Key       string             // column whose value decides; "" divides by exact ratio
	Seed      uint64             // draws which rows are of which part; the salt of a key
}

// leastSample is the smallest share of rows that a ratio can represent: its weights are 2^20ths.
const leastSample = 1e-6

// Validate lists everything that is wrong with the split, each a [*Error].
func (s Split) Validate() error {
	p := option.List{New: newError}
	s.validateParts(&p)
	if s.Subsample != 0 && !(s.Subsample >= leastSample && s.Subsample <= 1) {
		p.Add("Subsample", "must be from 0.000001 to 1, got %v", s.Subsample)
	}
	if divides := len(s.Parts) > 0 || s.Subsample != 0; !divides {
		if s.Key != "" {
			p.Add("PartKey", "needs {Parts} or {Subsample}, got %q alone", s.Key)
		}
		if s.Seed != 0 {
			p.Add("PartSeed", "needs {Parts} or {Subsample}, got %d alone", s.Seed)
		}
	}
	return p.Err()
}

func (s Split) validateParts(p *option.List) {
	names := s.names()
	for _, name := range names {
		field, w := fmt.Sprintf("Parts[%q]", name), s.Parts[name]
		if name == "" {
			p.Add(field, "must have a name")
		}
		if !(w >= 0) || math.IsInf(w, 1) {
			p.Add(field, "must be a weight of at least 0, got %v", w)
		}
	}
	weight, known := s.Parts[s.Part]
	switch {
	case len(names) == 0 && s.Part != "":
		p.Add("Part", "needs {Parts}, got %q alone", s.Part)
	case len(names) > 0 && !known:
		p.Add("Part", "must be one of %s, got %q", listed(names), s.Part)
	case known && weight == 0:
		p.Add("Part", "must have a weight above 0 in {Parts}, got %q with 0", s.Part)
	}
}

// names of the parts in order: the first has the first rows of each run.
func (s Split) names() []string { return slices.Sorted(maps.Keys(s.Parts)) }

// mostListed is how many names an error lists.
const mostListed = 10

// listed is names in words, at most some of them.
func listed(names []string) string {
	if rest := len(names) - mostListed; rest > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostListed], ", "), rest)
	}
	return strings.Join(names, ", ")
}

// A Part chooses the rows of one part of a split. It is immutable and safe for concurrent use; a
// [Marker] of it reads rows.
type Part struct {
	split  Split
	ratio  *shuffle.Ratio // of the parts in the order of their names; nil is one part
	at     int            // the part's place among them
	sample *shuffle.Ratio // the share of the part's rows that is kept, and the rest; nil keeps all
}

// NewPart makes the part of a split.
func NewPart(s Split) (*Part, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	p := &Part{split: s}
	var err error
	if names := s.names(); len(names) > 0 {
		weights := make([]float64, len(names))
		for i, name := range names {
			weights[i] = s.Parts[name]
		}
		p.at = slices.Index(names, s.Part)
		if p.ratio, err = shuffle.NewRatio(weights); err != nil {
			return nil, wrong("Parts", err, "cannot be divided by: %v", err)
		}
	}
	if s.Subsample != 0 && s.Subsample != 1 {
		if p.sample, err = shuffle.NewRatio([]float64{s.Subsample, 1 - s.Subsample}); err != nil {
			return nil, wrong("Subsample", err, "cannot be divided by: %v", err)
		}
	}
	return p, nil
}

// All reports whether the part is all rows.
func (p *Part) All() bool { return p.ratio == nil && p.sample == nil }

// Key is the column whose values decide, "" when row numbers do.
func (p *Part) Key() string { return p.split.Key }

// Text is the part's canonical text: parts of one text have the same rows of the same data.
func (p *Part) Text() string {
	if p.All() {
		return ""
	}
	var b strings.Builder
	b.WriteString("part")
	if p.ratio != nil {
		fmt.Fprintf(&b, " %q of", p.split.Part)
		weights := p.ratio.Weights()
		for i, name := range p.split.names() {
			fmt.Fprintf(&b, " %q %d", name, weights[i])
		}
	}
	if p.sample != nil {
		fmt.Fprintf(&b, " sample %d", p.sample.Weights()[0])
	}
	if p.split.Key != "" {
		fmt.Fprintf(&b, " by %q", p.split.Key)
	}
	fmt.Fprintf(&b, " seed %d", p.split.Seed)
	return b.String()
}
