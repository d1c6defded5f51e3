package added

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
)

// A Set finds the tokens of a list in text.
type Set struct {
	tokens []Token        // sorted by text
	second [256][4]uint64 // by first byte, the bytes that may follow
	single [256]bool      // this byte is a token
	starts [256]bool      // a token starts with this byte
	firsts []byte         // the first bytes
}

// NewSet returns the set of tokens, whose texts are not empty. If two have the same text, the first
// counts.
func NewSet(tokens []Token) *Set {
	s := &Set{tokens: slices.Clone(tokens)}
	slices.SortStableFunc(s.tokens, func(a, b Token) int { return cmp.Compare(a.Text, b.Text) })
	s.tokens = slices.CompactFunc(s.tokens, func(a, b Token) bool { return a.Text == b.Text })
	for i := range s.tokens {
		text := s.tokens[i].Text
		c := text[0]
		if n := len(s.firsts); n == 0 || s.firsts[n-1] != c {
			s.firsts = append(s.firsts, c)
			s.starts[c] = true
		}
		if len(text) == 1 {
			s.single[c] = true
		} else {
			s.second[c][text[1]>>6] |= 1 << (text[1] & 63)
		}
	}
	return s
}

// Memory returns the bytes that the set takes.
func (s *Set) Memory() int64 {
	n := int64(len(s.tokens))*48 + 256*(4*8+2)
	for i := range s.tokens {
		n += int64(len(s.tokens[i].Text))
	}
	return n
}

// next returns the first token in text from p on, and the longest there.
func (s *Set) next(text []byte, p int) (t *Token, start int) {
	for p = s.start(text, p); p < len(text); p = s.start(text, p+1) {
		if !s.may(text, p) {
			continue
		}
		if t := s.longest(text[p:]); t != nil {
			return t, p
		}
	}
	return nil, len(text)
}

// start returns the place from p on of the first byte that starts a token, or the end.
func (s *Set) start(text []byte, p int) int {
	if len(s.firsts) == 1 {
		if i := bytes.IndexByte(text[p:], s.firsts[0]); i >= 0 {
			return p + i
		}
		return len(text)
	}
	for ; p+4 <= len(text); p += 4 {
		if t := text[p : p+4]; s.starts[t[0]] || s.starts[t[1]] || s.starts[t[2]] || s.starts[t[3]] {
			break
		}
	}
	for p < len(text) && !s.starts[text[p]] {
		p++
	}
	return p
}

// may reports whether the two bytes at p start any token.
func (s *Set) may(text []byte, p int) bool {
	c := text[p]
	if s.single[c] {
		return true
	}
	if p+1 == len(text) {
		return false
	}
	d := text[p+1]
	return s.second[c][d>>6]>>(d&63)&1 != 0
}

// longest returns the longest token at the start of text, or nil.
func (s *Set) longest(text []byte) (best *Token) {
	in := s.tokens // all with the prefix text[:i]
	for i, c := range text {
		if len(in[0].Text) == i { // it is text[:i], which no longer one is
			in = in[1:]
		}
		in = in[sort.Search(len(in), func(k int) bool { return in[k].Text[i] >= c }):]
		in = in[:sort.Search(len(in), func(k int) bool { return in[k].Text[i] > c })]
		if len(in) == 0 {
			break
		}
		if len(in[0].Text) == i+1 {
			best = &in[0]
		}
	}
	return best
}
