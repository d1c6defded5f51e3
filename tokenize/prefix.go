package tokenize

import "bytes"

// A prefix puts its text before every text that does not start with it, and is not empty.
type prefix string

// Append implements rewriter.
func (p prefix) Append(dst, text []byte) (out []byte, changed bool) {
	if len(text) == 0 || bytes.HasPrefix(text, []byte(p)) {
		return dst, false
	}
	return append(append(dst, p...), text...), true
}

// Needs implements rewriter.
func (p prefix) Needs(text []byte) (size, beside int) { return len(p) + len(text), 0 }
