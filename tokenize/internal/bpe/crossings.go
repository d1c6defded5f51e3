package bpe

import (
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/tokenize/internal/char"
)

// crossings has the pairs of characters that are neighbours in a token. It may have more pairs.
type crossings struct {
	ascii [128][4]uint64  // by the first one; of bytes that are ASCII
	whole [1 << 15]uint64 // hashes of pairs of which not both are ASCII
	// Tokens that start or end inside a character, by what is sure of them:
	starts [256][4]uint64 // the last byte of the left character, the first byte of the right
	ends   [256][4]uint64 // a hash of the left character, the first byte of the right
}

// add adds the pairs of a token's text.
func (c *crossings) add(text string) {
	for i := 1; i < len(text); i++ {
		if !utf8.RuneStart(text[i]) {
			continue
		}
		left, right := i-1, i+1
		for left > 0 && !utf8.RuneStart(text[left]) {
			left--
		}
		for right < len(text) && !utf8.RuneStart(text[right]) {
			right++
		}
		a, b := text[left:i], text[i:right]
		switch {
		case !utf8.ValidString(a):
			set(&c.starts[a[len(a)-1]], b[0])
		case !utf8.ValidString(b):
			set(&c.ends[endHash(codePoint(a))], b[0])
		case len(a) == 1 && len(b) == 1:
			set(&c.ascii[a[0]], b[0])
		default:
			h := wholeHash(codePoint(a), codePoint(b))
			c.whole[h>>6] |= 1 << (h & 63)
		}
	}
}

// has reports whether a token may have the characters a and b side by side. last is the last byte
// of a, first the first of b.
func (c *crossings) has(a, b uint32, last, first byte) bool {
	if a < 0x80 && b < 0x80 {
		return is(&c.ascii[a], first)
	}
	h := wholeHash(a, b)
	return c.whole[h>>6]>>(h&63)&1 != 0 || is(&c.starts[last], first) || is(&c.ends[endHash(a)], first)
}

func set(s *[4]uint64, b byte)     { s[b>>6] |= 1 << (b & 63) }
func is(s *[4]uint64, b byte) bool { return s[b>>6]>>(b&63)&1 != 0 }

// codePoint returns the code point of a character.
func codePoint(s string) uint32 {
	r, _ := utf8.DecodeRuneInString(s)
	return uint32(r)
}

func endHash(a uint32) uint32 { return a * 0x9e3779b1 >> 24 }

func wholeHash(a, b uint32) uint32 {
	return uint32((uint64(a)*0x9e3779b97f4a7c15 ^ uint64(b)*0xc2b2ae3d27d4eb4f) >> (64 - 21))
}

// part returns the end of the part of a word that starts at p.
func (c *crossings) part(v char.View, p, end int) int {
	a, size := v.Rune(p)
	for p += size; p < end; p += size {
		var b uint32
		for b = uint32(v.At(p)); a|b < utf8.RuneSelf; b = uint32(v.At(p)) {
			if !is(&c.ascii[a&(utf8.RuneSelf-1)], byte(b)) {
				return p
			}
			if p++; p == end {
				return end
			}
			a = b
		}
		b, size = v.Rune(p)
		if !c.has(a, b, v.At(p-1), v.At(p)) {
			return p
		}
		a = b
	}
	return end
}
