package rule

import (
	"fmt"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/internal/option"
)

// An Error is one problem with a filter, as a problem of the option field Filters. Bind joins one
// for each problem.
type Error struct {
	Text string // follows the field's name, as in `at column 7, near "=>": write >=`
	Err  error  // the cause, when a file of values cannot be read
}

// optionField is the option that filters are given in.
const optionField = "Filters"

func (e *Error) Error() string { return e.Spelled(option.Go) }

// Spelled is the message with the field as name spells it.
func (e *Error) Spelled(name func(field string) string) string {
	return name(optionField) + " " + e.Text
}

func (e *Error) Unwrap() error { return e.Err }

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
	return &Error{Text: place + ": " + fmt.Sprintf(format, args...)}
}
