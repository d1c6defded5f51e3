package bpe

import (
	"math/bits"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/tokenize/internal/char"
	"github.com/shardfeed/shardfeed/tokenize/internal/words"
)

// A speller merges words. It implements [words.Speller].
type speller struct {
	model   *Model
	scratch *words.Scratch
	few     few
	windows windows
	ids     []uint32 // symbols of a word
}

// Token implements [words.Speller].
func (s *speller) Token(word []byte) (id int32, ok bool) { return s.model.rare.find(word) }

// Part implements [words.Speller].
func (s *speller) Part(v char.View, p, end int) int {
	if s.model.crossings == nil {
		return end
	}
	return s.model.crossings.part(v, p, end)
}

// Memory implements [words.Speller].
func (s *speller) Memory() int64 {
	return s.windows.memory() + int64(4*cap(s.ids)+8*fewMost)
}

// Trim implements [words.Speller].
func (s *speller) Trim() {
	s.ids = words.Trim(s.ids)
	s.windows.trim()
}

// Spell implements [words.Speller].
func (s *speller) Spell(dst []int32, word []byte) []int32 {
	m := s.model
	if m.symbols.bytes {
		return s.spellBytes(dst, word)
	}
	if len(word) <= fewMost && s.takeASCII(word) {
		return s.mergeFew(dst, len(word))
	}
	s.ids = m.symbols.of(words.Grow(s.scratch, s.ids[:0], len(word)), word)
	switch n := len(s.ids); {
	case n == 0:
		return dst
	case n > fewMost:
		return s.windows.merge(dst, m, s.ids)
	default:
		for i, id := range s.ids {
			s.few.ids[i] = id
			s.few.values[i] = noFew
			if i+1 < n && m.joins(id, s.ids[i+1]) {
				s.few.values[i] = m.pairs.value(id, s.ids[i+1])<<5 | uint32(i)
			}
		}
		return s.mergeFew(dst, n)
	}
}

// spellBytes merges the bytes of a word.
func (s *speller) spellBytes(dst []int32, word []byte) []int32 {
	m, n := s.model, len(word)
	if n > fewMost {
		s.ids = words.Grow(s.scratch, s.ids[:0], n)
		for _, c := range word {
			s.ids = append(s.ids, uint32(c))
		}
		return s.windows.merge(dst, m, s.ids)
	}
	c := uint32(word[0])
	for i, d := range word[1:] {
		s.few.ids[i] = c
		s.few.values[i] = m.bytePairs[c<<8|uint32(d)]<<5 | uint32(i)
		c = uint32(d)
	}
	s.few.ids[n-1] = c
	return s.mergeFew(dst, n)
}

// takeASCII gives s.few the characters of a short word. ok is false if one is not ASCII, or has no
// symbol.
func (s *speller) takeASCII(word []byte) (ok bool) {
	m, pair := s.model, uint32(0)
	for i, c := range word {
		if c >= utf8.RuneSelf || m.symbols.ascii[c] == noSymbol {
			return false
		}
		s.few.ids[i&(fewMost-1)] = m.symbols.ascii[c]
		if pair = pair<<7&(1<<14-1) | uint32(c); i > 0 {
			s.few.values[(i-1)&(fewMost-1)] = m.bytePairs[pair]<<5 | uint32(i-1)
		}
	}
	return true
}

// mergeFew appends the tokens of the n symbols in s.few.
func (s *speller) mergeFew(dst []int32, n int) []int32 {
	for left := s.few.merge(s.model, n); left != 0; left &= left - 1 {
		dst = append(dst, s.model.ids[s.few.ids[bits.TrailingZeros32(left)&31]])
	}
	return dst
}
