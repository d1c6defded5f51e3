package option

import (
	"errors"
	"slices"
	"strings"
)

// Limits of options: more is a mistake.
const (
	MaxBytes     = 1 << 50
	MaxRows      = 1 << 50
	MaxBatchRows = 1<<31 - 1
	MaxEpoch     = 1<<53 - 1 // the largest integer that every reader of JSON keeps
	MaxWorldSize = 1 << 15
	MaxWorkers   = 1 << 10
	MaxBatches   = 1 << 20
)

// A List collects problems.
type List struct {
	New  func(field, text string) error // makes the error of a problem
	errs []error
}

// Add notes a problem of a field. The text follows the field's name, and names others in its
// format.
func (l *List) Add(field, format string, args ...any) {
	l.errs = append(l.errs, l.New(field, Sprintf(format, args...)))
}

// Within checks a number of which 0 takes the default.
func (l *List) Within(field string, n, limit int64) {
	switch {
	case n < 0:
		l.Add(field, "must not be negative, got %d", n)
	case n > limit:
		l.Add(field, "must be at most %d, got %d", limit, n)
	}
}

// OneOf checks a word that may be left out.
func (l *List) OneOf(field, word string, allowed ...string) {
	if word == "" || slices.Contains(allowed, word) {
		return
	}
	last := len(allowed) - 1
	l.Add(field, "must be %s or %s, got %q", strings.Join(allowed[:last], ", "), allowed[last], word)
}

// Join adds what another check found.
func (l *List) Join(err error) {
	if err != nil {
		l.errs = append(l.errs, err)
	}
}

// Err is all problems in one error, or nil.
func (l *List) Err() error { return errors.Join(l.errs...) }
