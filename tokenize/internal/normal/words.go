package normal

import (
	"bytes"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/tokenize/internal/property"
)

// A JoinWords puts one space between the words of a text and removes all other white space. A word
// that starts with Mark has its space already.
type JoinWords struct{ Mark string }

// Append implements [Normalizer].
func (j JoinWords) Append(dst, text []byte) (out []byte, changed bool) {
	base := len(dst)
	for p := 0; p < len(text); {
		r, size := utf8.DecodeRune(text[p:])
		if property.Of(r)&property.White != 0 {
			p += size
			continue
		}
		begin := p
		for p < len(text) {
			r, size := utf8.DecodeRune(text[p:])
			if property.Of(r)&property.White != 0 {
				break
			}
			p += size
		}
		word := text[begin:p]
		if len(dst) > base && !bytes.HasPrefix(word, []byte(j.Mark)) {
			dst = append(dst, ' ')
		}
		dst = append(dst, word...)
	}
	return dst, true
}

// Needs implements [Normalizer].
func (j JoinWords) Needs(text []byte) (size, beside int) { return len(text), 0 }
