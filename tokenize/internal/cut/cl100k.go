package cut

import "github.com/shardfeed/shardfeed/tokenize/internal/char"

// CL100K is the family of tiktoken's cl100k:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
type CL100K struct {
	Digits int  // at most so long are words of numbers; 0 is any length
	Marks  bool // marks are in words of letters, as in [\p{L}\p{M}]+
	Tail   bool // white space at the end of the text is one word, as in \s++$
}

// Cut implements [Cutter].
func (c CL100K) Cut(t *Text, p, end int, ends []uint32) (n, next int) {
	word := char.Letters
	if c.Marks {
		word |= char.Mark
	}
	for n < len(ends) && p < end {
		if q := firstLetter(t.View, p, end); q > 0 {
			p = asciiWord(t.View, q, end, word)
		} else {
			p = c.word(t.View, p, end, word)
		}
		ends[n] = uint32(p)
		n++
	}
	return n, p
}

func (c CL100K) word(v char.View, p, end int, word char.Kinds) int {
	if q := contraction(v, p, end, true); q > p {
		return q
	}
	k, size := v.Kind(p, end)
	q := p + size
	switch {
	case k&word != 0:
		return letters(v, q, end, word)
	case k == char.Number:
		return numbers(v, p, end, c.Digits)
	}
	next, _ := v.Kind(q, end)
	switch {
	case k != char.Line && next&word != 0:
		return letters(v, q, end, word)
	case k&visible != 0 || v.At(p) == ' ' && next&visible&^word != 0:
		return lines(v, run(v, q, end, visible&^word), end, false)
	}
	if c.Tail {
		return white(v, p, end, gapTail)
	}
	return white(v, p, end, gapLines)
}
