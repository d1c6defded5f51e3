package normal

import (
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/tokenize/internal/property"
)

// cluster returns the size of the first extended grapheme cluster of text, and of its first
// character. A pair of regional indicators is two clusters here, which makes no difference to a
// Precompiled: each has 4 bytes.
func cluster(text []byte) (size, first int) {
	last, first := utf8.DecodeRune(text)
	size = first
	set := property.Of(last)
	if last == '\r' && len(text) > size && text[size] == '\n' {
		return 2, 1
	}
	if set&property.Control != 0 {
		return size, first
	}
	j := joiner{}
	j.add(last, set)
	for size < len(text) {
		r, n := utf8.DecodeRune(text[size:])
		s := property.Of(r)
		if !j.joins(last, set, r, s) {
			break
		}
		j.add(r, s)
		size += n
		last, set = r, s
	}
	return size, first
}

// The classes of characters that may be in a cluster with another one. joinsLast is without Hangul.
const (
	joinsLast = 1 << iota // with the one before
	joinsNext             // with any that follows
)

func joinClass(s property.Set) (class uint8) {
	if s&(property.Joins|property.Pictograph|property.Consonant) != 0 {
		class = joinsLast
	}
	if s&property.Prepend != 0 {
		class |= joinsNext
	}
	return class
}

// isHangul reports whether r is in a block of Hangul that joinsHangul knows.
func isHangul(r rune) bool {
	return r >= 0x1100 && (r <= 0x11ff || r >= 0xa960 && r <= 0xa97f || r >= syllableFirst && r <= 0xd7ff || r >= 0x16d63 && r <= 0x16d6a)
}

// A joiner keeps what the rules need of the characters before the last one.
type joiner struct {
	pictograph bool // a pictograph and Extend, up to the last character (GB11)
	zwj        bool // the same, then U+200D
	consonant  bool // a consonant and what may be between two, up to the last character (GB9c)
	linked     bool // the same, with a linker
}

const zeroWidthJoiner = 0x200d

func (j *joiner) add(r rune, s property.Set) {
	j.zwj = j.pictograph && r == zeroWidthJoiner
	j.pictograph = s&property.Pictograph != 0 || j.pictograph && s&property.Extend != 0
	switch {
	case s&property.Consonant != 0:
		j.consonant, j.linked = true, false
	case !j.consonant || s&property.BetweenConsonants == 0:
		j.consonant, j.linked = false, false
	case s&property.Linker != 0:
		j.linked = true
	}
}

// joins reports whether the character r continues the cluster of last.
func (j *joiner) joins(last rune, before property.Set, r rune, s property.Set) bool {
	switch {
	case s&property.Control != 0:
		return false
	case s&property.Joins != 0, before&property.Prepend != 0:
		return true
	case j.zwj && s&property.Pictograph != 0, j.linked && s&property.Consonant != 0:
		return true
	}
	return joinsHangul(last, r)
}

// joinsHangul is rules GB6 to GB8.
func joinsHangul(a, b rune) bool {
	syllable := func(r rune) bool { return r >= syllableFirst && r <= syllableLast }
	lead := func(r rune) bool { return r >= 0x1100 && r <= 0x115f || r >= 0xa960 && r <= 0xa97c }
	vowel := func(r rune) bool {
		return r >= 0x1160 && r <= 0x11a7 || r >= 0xd7b0 && r <= 0xd7c6 || r == 0x16d63 || r >= 0x16d67 && r <= 0x16d6a
	}
	final := func(r rune) bool { return r >= 0x11a8 && r <= 0x11ff || r >= 0xd7cb && r <= 0xd7fb }
	switch {
	case lead(a):
		return lead(b) || vowel(b) || syllable(b)
	case vowel(a), syllable(a) && (a-syllableFirst)%finals == 0:
		return vowel(b) || final(b)
	}
	return (final(a) || syllable(a)) && final(b)
}
