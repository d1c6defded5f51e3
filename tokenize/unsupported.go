package tokenize

import "fmt"

// An UnsupportedError names a part of a tokenizer that the package does not implement exactly.
type UnsupportedError struct {
	Part string // its place, as in "pre_tokenizer 1"
	What string // what it asks for, with the text of the file
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s: %s, which shardfeed does not implement exactly; "+
		"tokenise the texts before, or in map()", e.Part, e.What)
}

// unsupported returns an UnsupportedError of a part.
func unsupported(part, format string, args ...any) error {
	return &UnsupportedError{Part: part, What: fmt.Sprintf(format, args...)}
}
