package cut

import (
	"math/bits"

	"github.com/shardfeed/shardfeed/tokenize/internal/char"
	"github.com/shardfeed/shardfeed/tokenize/internal/property"
)

// O200K is the family of tiktoken's o200k, in which a word of letters ends before a capital:
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+|\s+(?!\S)|\s+
type O200K struct {
	Digits       int  // at most so long are words of numbers
	Contractions bool // words take a contraction
	NoSlash      bool // words of punctuation take line ends only
	Han          bool // [\p{Han}]+ comes first, and words of letters have no Han character
}

const (
	small   = char.Lower | char.Letter | char.Mark
	capital = char.Upper | char.Letter | char.Mark
)

// Cut implements [Cutter].
func (o O200K) Cut(t *Text, p, end int, ends []uint32) (n, next int) {
	for n < len(ends) && p < end {
		// A small letter, or a capital and a small one, after a space or not, starts nearly every
		// word.
		x, q := t.At(p), p
		if x == ' ' && p+1 < end {
			q++
			x = t.At(q)
		}
		if x-'A' < 26 && q+1 < end {
			q++
			x = t.At(q)
		}
		if x-'a' < 26 {
			p = o.suffix(t.View, o.smalls(t.View, q+1, end), end)
		} else {
			p = o.word(t.View, p, end)
		}
		ends[n] = uint32(p)
		n++
	}
	return n, p
}

// smalls returns the end of the characters from p on that are small.
func (o O200K) smalls(v char.View, p, end int) int {
	x := v.Load64(p)
	if out := outside(x, 'a', 'z'); out != 0 {
		if n := bits.TrailingZeros64(out) &^ 7; x>>n&0x80 == 0 {
			return min(p+n>>3, end)
		}
	}
	if p = lowersASCII(v, p); p >= end {
		return end
	}
	if v.At(p) < 0x80 {
		return p
	}
	for p < end {
		k, size := o.kind(v, p, end)
		if k&small == 0 {
			break
		}
		p += size
	}
	return p
}

// kind returns the kind of a character in a word of letters.
func (o O200K) kind(v char.View, p, end int) (k char.Kinds, size int) {
	k, size = v.Kind(p, end)
	if o.Han && k == char.Letter && han(v, p, p+size) > p {
		k = 0
	}
	return k, size
}

// han returns the end of the Han characters from p on.
func han(v char.View, p, end int) int {
	for p < end && v.At(p) >= 0x80 {
		r, size := v.Rune(p)
		if property.Of(rune(r))&property.Han == 0 {
			break
		}
		p += size
	}
	return p
}

func (o O200K) suffix(v char.View, p, end int) int {
	if !o.Contractions {
		return p
	}
	return contraction(v, p, end, true)
}

func (o O200K) word(v char.View, p, end int) int {
	if o.Han {
		if q := han(v, p, end); q > p {
			return q
		}
	}
	k, size := v.Kind(p, end)
	q := p + size
	if w := o.capitals(v, p, end, k, size); w > p {
		return o.suffix(v, w, end)
	}
	if k == char.Number {
		return numbers(v, p, end, o.Digits)
	}
	next := char.Kinds(0)
	if v.At(p) == ' ' {
		next, _ = v.Kind(q, end)
	}
	if (k|next)&visible != 0 {
		return lines(v, run(v, q, end, visible), end, !o.NoSlash)
	}
	return white(v, p, end, gapLines)
}

// capitals returns the end of a word of letters at p without a contraction, or p without such a word.
// k and size are the kind and the size of the character at p.
func (o O200K) capitals(v char.View, p, end int, k char.Kinds, size int) int {
	if k&char.Letters != 0 {
		first, second := o.letterWord(v, p, end)
		return max(first, second)
	}
	if k&(char.Number|char.Line) != 0 {
		return p
	}
	// The first alternative with the character before it, then without; then the second.
	first, second := o.letterWord(v, p+size, end)
	if first == 0 && k == char.Mark {
		first, _ = o.letterWord(v, p, end)
	}
	if first > 0 {
		return first
	}
	return max(second, p)
}

// letterWord returns the end of capitals* smalls+ at p, or of capitals+ if that has no match; the
// other one is 0.
func (o O200K) letterWord(v char.View, p, end int) (first, second int) {
	q, both := p, 0 // both is the end of the last character that is capital and small
	for q < end {
		k, size := o.kind(v, q, end)
		if k == char.Lower {
			return o.smalls(v, q, end), 0
		}
		if k&capital == 0 {
			break
		}
		if q += size; k != char.Upper {
			both = q
		}
	}
	switch {
	case both > 0:
		return both, 0
	case q > p:
		return 0, q
	}
	return 0, 0
}
