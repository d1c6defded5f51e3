package shuffle

import (
	"fmt"
	"strings"
)

// Error is a value that the package refuses: the manifest's, the parameters', a view's or a
// state's.
type Error struct {
	Field string // what is wrong, in the words of the flags and of the state's JSON
	Msg   string

	sentence bool // Msg says all
}

func (e *Error) Error() string {
	if e.sentence {
		return e.Msg
	}
	return "shuffle: " + e.Field + ": " + e.Msg
}

func refuse(field, format string, args ...any) error {
	return &Error{Field: field, Msg: fmt.Sprintf(format, args...)}
}

// MismatchError reports a field of a saved state that differs: the state belongs to other data or
// to another plan.
type MismatchError struct {
	Field string
	Saved string // in the state
	Here  string // of the plan
}

func (e *MismatchError) Error() string { return mismatches{e}.Error() }

// mismatches are all fields of a state that differ.
type mismatches []*MismatchError

func (m mismatches) Error() string {
	clauses := make([]string, len(m))
	for i, e := range m {
		clauses[i] = fmt.Sprintf("%s is %s in the state and %s here", e.Field, e.Saved, e.Here)
	}
	return "shuffle: state does not fit: " + strings.Join(clauses, "; ")
}

func (m mismatches) Unwrap() []error {
	all := make([]error, len(m))
	for i, e := range m {
		all[i] = e
	}
	return all
}

// err is nil if no field differs.
func (m mismatches) err() error {
	switch len(m) {
	case 0:
		return nil
	case 1:
		return m[0]
	}
	return m
}

// compare adds a field if it differs.
func (m *mismatches) compare(field, saved, here string) {
	if saved != here {
		*m = append(*m, &MismatchError{Field: field, Saved: saved, Here: here})
	}
}
