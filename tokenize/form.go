package tokenize

import "strings"

// A form is how the words that reach the model write the texts of its vocabulary.
type form struct {
	bytes     bool // as their bytes, which the vocabulary writes as characters
	spaces    bool // with spaces, for which the vocabulary has metaspace
	skipSpace bool // with white space before words and between them, which has no tokens
}

// metaspace represents a space in vocabularies of SentencePiece. Words have a
// space in its place where all spaces became metaspaces: it is shorter, and most texts need no
// change.
const metaspace = "\u2581"

// inside returns a text of the vocabulary as words have it. ok is false if no word has it.
func (f form) inside(text string) (inside string, ok bool) {
	switch {
	case f.bytes:
		return bytesOf(text)
	case f.spaces:
		return strings.ReplaceAll(text, metaspace, " "), !strings.Contains(text, " ")
	}
	return text, true
}

// fallback refuses byte_fallback in a vocabulary without metaspace, of which words do not have the
// bytes.
func (f form) fallback(p part) error {
	if f.spaces {
		return unsupported(p.name, "it has byte_fallback, and its vocabulary lacks %q", metaspace)
	}
	return nil
}

// bytesOf undoes the table of GPT-2, which writes each byte as a printable character.
func bytesOf(text string) (bytes string, ok bool) {
	b := make([]byte, 0, len(text))
	for _, r := range text {
		c, ok := byteOf[r]
		if !ok {
			return "", false
		}
		b = append(b, c)
	}
	return string(b), true
}

// byteOf maps the characters of the table to bytes: printable ones to themselves, and the others,
// in their order, from U+0100 on.
var byteOf = func() map[rune]byte {
	all, next := map[rune]byte{}, rune(0x100)
	for b := range rune(0x100) {
		if b > ' ' && b < 0x7f || b > 0xa0 && b != 0xad {
			all[b] = byte(b)
			continue
		}
		all[next] = byte(b)
		next++
	}
	return all
}()
