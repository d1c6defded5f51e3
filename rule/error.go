package rule

import (
	"fmt"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/internal/option"
)

// An Error is one problem with a filter, a split, a row list or weights, as a problem of an option
// field. What finds several joins one for each.
type Error struct {
	Field string // as in "Filters" or "Subsample"
	Text  string // follows the field's name; names other fields as {Field}
	Err   error  // the cause, when another package found the problem
}

// optionField is the option that filters are given in.
const optionField = "Filters"

func (e *Error) Error() string { return e.Spelled(option.Go) }

// Spelled is the message with fields as name spells them.
func (e *Error) Spelled(name func(field string) string) string {
	return name(e.Field) + " " + option.Spell(e.Text, name)
}

func (e *Error) Unwrap() error { return e.Err }

func newError(field, text string) error { return &Error{Field: field, Text: text} }

// wrong returns a problem of a field. The format may name fields as {Field}; braces in the
// arguments are the user's.
func wrong(field string, cause error, format string, args ...any) *Error {
	return &Error{Field: field, Text: option.Sprintf(format, args...), Err: cause}
}

// maxNear is how much of the text a message shows of the place of an error, in characters.
const maxNear = 16

// errorAt is a problem at byte at of a filter's text.
func errorAt(text string, at int, format string, args ...any) *Error {
	column := utf8.RuneCountInString(text[:at]) + 1
	place := fmt.Sprintf("at column %d, at the end", column)
	if rest := text[at:]; rest != "" {
		near := []rune(rest[:min(len(rest), maxNear*utf8.UTFMax)])
		place = fmt.Sprintf("at column %d, near %q", column, string(near[:min(len(near), maxNear)]))
	}
	return wrong(optionField, nil, "%s: %s", place, fmt.Sprintf(format, args...))
}
