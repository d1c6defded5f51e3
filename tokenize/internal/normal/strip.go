package normal

import (
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/tokenize/internal/property"
)

// A Strip removes white space at the ends of a text.
type Strip struct{ Left, Right bool }

// Append implements [Normalizer].
func (s Strip) Append(dst, text []byte) (out []byte, changed bool) {
	begin, end := 0, len(text)
	for s.Left && begin < end {
		r, size := utf8.DecodeRune(text[begin:end])
		if property.Of(r)&property.White == 0 {
			break
		}
		begin += size
	}
	for s.Right && begin < end {
		r, size := utf8.DecodeLastRune(text[begin:end])
		if property.Of(r)&property.White == 0 {
			break
		}
		end -= size
	}
	if end-begin == len(text) {
		return dst, false
	}
	return append(dst, text[begin:end]...), true
}

// Needs implements [Normalizer].
func (s Strip) Needs(text []byte) (size, beside int) { return len(text), 0 }

// A Prepend puts its text before every text that is not empty.
type Prepend struct{ Text string }

// Append implements [Normalizer].
func (p Prepend) Append(dst, text []byte) (out []byte, changed bool) {
	if len(text) == 0 || p.Text == "" {
		return dst, false
	}
	return append(append(dst, p.Text...), text...), true
}

// Needs implements [Normalizer].
func (p Prepend) Needs(text []byte) (size, beside int) { return len(p.Text) + len(text), 0 }
