package shuffle

import "fmt"

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

// MismatchError says that a saved state belongs to other data or to another plan.
type MismatchError struct {
	Field string
	Saved string // in the state
	Here  string // of the plan
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("shuffle: state does not fit: %s is %s in the state and %s here", e.Field, e.Saved, e.Here)
}
