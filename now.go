package shardfeed

import (
	"time"

	"github.com/shardfeed/shardfeed/rule"
)

// now is the instant of Now, or the zero Time.
func (s Spec) now() (time.Time, error) {
	if s.Now == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339, s.Now)
}

// At returns the spec with its Now as states have it: what the filters take from it, or from the
// given instant where it is "". It stays "" where the filters take nothing, or a plan says it.
// Specs that read the same rows are equal then, whenever they were made.
func (s Spec) At(instant time.Time) Spec {
	now, err := s.now()
	switch {
	case err != nil || s.Now == "" && (s.Plan != "" || s.SavedPlan != nil):
		return s
	case s.Now == "":
		now = instant
	}
	s.Now = ""
	filters := []string{s.Filters}
	for _, of := range s.Sources {
		filters = append(filters, of.Filters)
	}
	for _, text := range filters {
		if e, err := rule.Parse(text); err == nil { // else Open says what is wrong
			if part := e.Clock(now); !part.IsZero() {
				s.Now = max(s.Now, part.Format(time.RFC3339))
			}
		}
	}
	return s
}
