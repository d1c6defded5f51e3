package added

import "unicode/utf8"

// A Match is a token in a text.
type Match struct {
	Token *Token
	Start int // with the white space that the token takes; never before the end of the last match
	End   int
}

// A Finder goes through the tokens in a text.
type Finder struct {
	set      *Set
	text     []byte
	specials bool
	at       int // where the search goes on
	end      int // of the last match
}

// Find returns the finder of the tokens in text. If specials is false, special tokens are passed
// over, as if their text were no token.
func (s *Set) Find(text []byte, specials bool) Finder {
	return Finder{set: s, text: text, specials: specials}
}

// Next returns the next match; ok is false at the end.
func (f *Finder) Next() (m Match, ok bool) {
	if len(f.set.tokens) == 0 {
		return m, false
	}
	for {
		t, start := f.set.next(f.text, f.at)
		if t == nil {
			return m, false
		}
		// White space that a match takes is searched nevertheless: a token in it counts.
		f.at = start + len(t.Text)
		if t.Special && !f.specials || t.SingleWord && !f.isolated(start, f.at) {
			continue
		}
		end := f.at
		if t.LStrip {
			start = max(spaceBefore(f.text, start), f.end)
		}
		if t.RStrip {
			end = spaceAfter(f.text, end)
		}
		m = Match{Token: t, Start: max(start, f.end), End: end}
		f.end = end
		if t.LStrip && m.Start >= end {
			continue // the match before took all of it
		}
		return m, true
	}
}

// isolated reports whether no word character touches the text between start and end.
func (f *Finder) isolated(start, end int) bool {
	before, _ := utf8.DecodeLastRune(f.text[:start])
	after, _ := utf8.DecodeRune(f.text[end:])
	return (start == 0 || !isWord(before)) && (end == len(f.text) || !isWord(after))
}

func spaceBefore(text []byte, p int) int {
	for p > 0 {
		r, size := utf8.DecodeLastRune(text[:p])
		if !isSpace(r) {
			break
		}
		p -= size
	}
	return p
}

func spaceAfter(text []byte, p int) int {
	for p < len(text) {
		r, size := utf8.DecodeRune(text[p:])
		if !isSpace(r) {
			break
		}
		p += size
	}
	return p
}
