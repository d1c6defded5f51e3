package iterable

import (
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable/internal/panics"
)

// PanicError is a panic in a goroutine of a stream or a loader.
type PanicError = panics.Error

// An OptionError says which option cannot be used, and why. Every error of a Validate method joins
// one for each problem.
type OptionError struct {
	Field string // as in "UnitRows"; an element of a list is "Columns[1]"
	Text  string // follows the field's name; other fields stand in it as {Field}
	Err   error  // the cause, when another package found the problem
}

func (e *OptionError) Error() string { return e.Spelled(option.Go) }

// Spelled is the message with fields as name spells them.
func (e *OptionError) Spelled(name func(field string) string) string {
	return name(e.Field) + " " + option.Spell(e.Text, name)
}

func (e *OptionError) Unwrap() error { return e.Err }

func newOptionError(field, text string) error { return &OptionError{Field: field, Text: text} }
