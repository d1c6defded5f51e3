package option

// An Error names the option that cannot be used, and the reason. Every error of a Validate method
// joins one for each problem.
type Error struct {
	Field string // as in "UnitRows"; an element of a list is "Columns[1]"
	Text  string // follows the field's name, and has other fields as {Field}
	Err   error  // the cause, if another package found the problem
}

func (e *Error) Error() string { return e.Spelled(Go) }

// Spelled returns the message with fields as name spells them.
func (e *Error) Spelled(name func(field string) string) string {
	return name(e.Field) + " " + Spell(e.Text, name)
}

func (e *Error) Unwrap() error { return e.Err }

// NewError returns an Error without a cause.
func NewError(field, text string) error { return &Error{Field: field, Text: text} }
