package block

import (
	"fmt"

	"github.com/shardfeed/shardfeed/internal/option"
)

// UTF8Hint is the advice for text that is not UTF-8.
const UTF8Hint = "set {InvalidUTF8} to replace, to read each such byte as U+FFFD"

// A TextError is about a string that is not UTF-8.
type TextError struct{ Text string }

func (e *TextError) Error() string { return e.Spelled(option.Go) }

// Spelled is the message with the option that accepts such strings as name spells it.
func (e *TextError) Spelled(name func(field string) string) string {
	return fmt.Sprintf("a string that is not UTF-8: %.40q (%s)", e.Text, option.Spell(UTF8Hint, name))
}
