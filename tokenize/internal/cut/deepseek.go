package cut

import "github.com/shardfeed/shardfeed/tokenize/internal/char"

// DeepSeek is the last pattern of DeepSeek V3:
//
//	[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+
//	[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+
//	 ?[\p{P}\p{S}]+[\r\n]*
//	\s*[\r\n]+|\s+(?!\S)|\s+
//
// Text between two matches is a word too.
type DeepSeek struct{}

const (
	wordMarks = char.Letters | char.Mark
	signs     = char.Punct | char.Symbol
)

// Cut implements [Cutter].
func (d DeepSeek) Cut(t *Text, p, end int, ends []uint32) (n, next int) {
	for n < len(ends) && p < end {
		if q := firstLetter(t.View, p, end); q > 0 {
			p = asciiWord(t.View, q, end, wordMarks)
		} else {
			p = d.word(t.View, p, end)
		}
		ends[n] = uint32(p)
		n++
	}
	return n, p
}

func (DeepSeek) word(v char.View, p, end int) int {
	k, size := v.Kind(p, end)
	q := p + size
	if k&wordMarks != 0 {
		return letters(v, q, end, wordMarks)
	}
	next, _ := v.Kind(q, end)
	switch {
	case k&signs != 0 && size == 1 && q < end && (v.At(q)|0x20)-'a' < 26:
		return min(lettersASCII(v, q), end)
	case k&(char.Line|signs) == 0 && next&wordMarks != 0:
		return letters(v, q, end, wordMarks)
	case k&signs != 0 || v.At(p) == ' ' && next&signs != 0:
		return lines(v, run(v, q, end, signs), end, false)
	case k&char.White != 0:
		return white(v, p, end, gapLines)
	}
	return unmatched(v, q, end)
}

// unmatched returns the end of the characters from p on that no alternative matches: numbers, and
// others that do not precede a letter.
func unmatched(v char.View, p, end int) int {
	for p < end {
		k, size := v.Kind(p, end)
		if k&(char.Other|char.Number) == 0 {
			break
		}
		if next, _ := v.Kind(p+size, end); next&wordMarks != 0 {
			break
		}
		p += size
	}
	return p
}
