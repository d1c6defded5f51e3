package shardfeed

import (
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/shuffle"
)

// sized reports whether EpochSize is of one data set, which is read as a mixture of one source.
func (s Spec) sized() bool { return s.EpochSize != 0 && len(s.Sources) == 0 }

// asSources returns a spec in which a sized data set is a source, and any other spec as it is.
func (s Spec) asSources() Spec {
	if !s.sized() {
		return s
	}
	s.Sources = []Source{{Name: shuffle.OnlySource, Addresses: s.Addresses, Weight: 1, Choice: s.Choice, RowWeight: s.Weight}}
	s.Addresses, s.Choice, s.Weight = nil, Choice{}, ""
	return s
}

// validateSized checks a sized data set, first without its EpochSize, so that messages name the
// fields that were given.
func (s Spec) validateSized() error {
	p := option.List{New: newOptionError}
	plain := s
	plain.EpochSize, plain.Plan, plain.SavedPlan = 0, "", nil // a plan is of sources
	p.Join(plain.Validate())
	if !s.Shuffle {
		p.Add("EpochSize", "needs {Shuffle}: in file order an epoch is all rows")
	}
	return p.Err()
}
