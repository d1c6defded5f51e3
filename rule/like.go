package rule

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/column"
)

// canonicalEscape is the escape of patterns in the canonical text.
const canonicalEscape = '\\'

// canonicalPattern writes a pattern with the canonical escape if it needs one, and reports whether
// it does. An escape of 0 means no escape.
func canonicalPattern(text string, escape rune) (pattern string, escaped bool, err error) {
	var plain, quoted strings.Builder
	literal := false // the rune before was the escape
	for _, c := range text {
		if c == escape && escape != 0 && !literal {
			literal = true
			continue
		}
		if wild := c == '%' || c == '_'; wild && literal || c == canonicalEscape {
			escaped = escaped || wild
			quoted.WriteRune(canonicalEscape)
		}
		plain.WriteRune(c)
		quoted.WriteRune(c)
		literal = false
	}
	switch {
	case literal:
		return "", false, fmt.Errorf("the pattern ends in its escape %q; double it to mean the character", escape)
	case escaped:
		return quoted.String(), true, nil
	}
	return plain.String(), false, nil
}

// A wildcard is a piece of a pattern.
type wildcard struct {
	text []byte // itself; nil is a wildcard
	any  bool   // % of any length, else _ of one character
}

// wildcards cuts a canonical pattern into pieces. No two that follow each other are text, or %.
func wildcards(pattern string, escaped bool) (all []wildcard) {
	for i := 0; i < len(pattern); i++ {
		c, last := pattern[i], len(all)-1
		switch {
		case c == '%' && (last < 0 || !all[last].any):
			all = append(all, wildcard{any: true})
		case c == '%':
		case c == '_':
			all = append(all, wildcard{})
		default:
			if escaped && c == canonicalEscape {
				i++
			}
			if last < 0 || all[last].text == nil {
				all = append(all, wildcard{})
				last++
			}
			all[last].text = append(all[last].text, pattern[i])
		}
	}
	return all
}

// likeTest returns the cheapest test that passes what a pattern does.
func likeTest(pattern string, escaped bool) textTest {
	w := wildcards(pattern, escaped)
	text := func(i int) []byte { return w[i].text }
	switch {
	case len(w) == 0:
		return newTexts(opEqual, [][]byte{{}})
	case len(w) == 1 && text(0) != nil:
		return newTexts(opEqual, [][]byte{text(0)})
	case len(w) == 2 && text(0) != nil && w[1].any:
		return prefix(text(0))
	case len(w) == 2 && w[0].any && text(1) != nil:
		return suffix(text(1))
	case len(w) == 3 && w[0].any && text(1) != nil && w[2].any:
		return substring(text(1))
	}
	return like(w)
}

// like passes what a pattern matches.
type like []wildcard

// passes tries the shortest text for each %, and a longer one for the last when the rest does not
// match.
func (l like) passes(v []byte) bool {
	at, piece := 0, 0
	begin, after := 0, -1 // end of the text matched by the last %, and the piece after it
	for at < len(v) || piece < len(l) {
		switch n, ok := l.take(v[at:], piece); {
		case piece < len(l) && l[piece].any:
			piece++
			begin, after = at, piece
			if piece == len(l) {
				return true
			}
		case ok:
			at, piece = at+n, piece+1
			continue
		case after < 0 || begin == len(v):
			return false
		default:
			_, size := utf8.DecodeRune(v[begin:])
			begin += size
		}
		if text := l[after].text; text != nil { // jump to the next possible match
			skip := bytes.Index(v[begin:], text)
			if skip < 0 {
				return false
			}
			begin += skip
		}
		at, piece = begin, after
	}
	return true
}

// take reports whether a piece other than % matches a prefix of v, and the length of that prefix.
func (l like) take(v []byte, piece int) (n int, ok bool) {
	switch {
	case piece == len(l) || l[piece].any:
		return 0, false
	case l[piece].text != nil:
		return len(l[piece].text), bytes.HasPrefix(v, l[piece].text)
	}
	_, n = utf8.DecodeRune(v)
	return n, n > 0
}

func (l like) within(least, most []byte) (none, all bool) {
	if l[0].text == nil {
		return false, false
	}
	none, _ = prefix(l[0].text).within(least, most)
	return none, false
}

func (like) members() [][]byte { return nil }

// prefix passes values with the prefix.
type prefix []byte

func (p prefix) passes(v []byte) bool { return bytes.HasPrefix(v, p) }

// within compares the bounds' first bytes: values between two that have a prefix have it too.
func (p prefix) within(least, most []byte) (none, all bool) {
	cut := func(b []byte) []byte { return b[:min(len(b), len(p))] }
	none = most != nil && bytes.Compare(most, p) < 0 || least != nil && bytes.Compare(cut(least), p) > 0
	return none, least != nil && most != nil && p.passes(least) && p.passes(most)
}

func (prefix) members() [][]byte { return nil }

// suffix passes what ends with it.
type suffix []byte

func (s suffix) passes(v []byte) bool              { return bytes.HasSuffix(v, s) }
func (suffix) within(_, _ []byte) (none, all bool) { return false, false }
func (suffix) members() [][]byte                   { return nil }

// substring passes what contains it.
type substring []byte

func (s substring) passes(v []byte) bool              { return bytes.Contains(v, s) }
func (substring) within(_, _ []byte) (none, all bool) { return false, false }
func (substring) members() [][]byte                   { return nil }

// searchTest returns the test of contains, starts_with or ends_with.
func searchTest(o op, text []byte) textTest {
	switch o {
	case opStartsWith:
		return prefix(text)
	case opEndsWith:
		return suffix(text)
	}
	return substring(text)
}

// canSearch reports whether values of the type are searched for text. UUIDs are compared whole.
func canSearch(f *column.Field) bool {
	switch f.Type {
	case column.TypeBinary, column.TypeFixedBinary:
		return true
	}
	return isText(f)
}
