package cut

import "github.com/shardfeed/shardfeed/tokenize/internal/char"

// visible has all kinds that are neither letters, numbers nor white space.
const visible = char.Other | char.Mark | char.Punct | char.Symbol

// GPT2 is the pattern of GPT-2, which ByteLevel has too:
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
type GPT2 struct{}

// Cut implements [Cutter].
func (g GPT2) Cut(t *Text, p, end int, ends []uint32) (n, next int) {
	for n < len(ends) && p < end {
		if q := firstLetter(t.View, p, end); q > 0 {
			p = asciiWord(t.View, q, end, char.Letters)
		} else {
			p = g.word(t.View, p, end)
		}
		ends[n] = uint32(p)
		n++
	}
	return n, p
}

func (GPT2) word(v char.View, p, end int) int {
	if q := contraction(v, p, end, false); q > p {
		return q
	}
	q := p
	if v.At(p) == ' ' && p+1 < end {
		q++
	}
	k, _ := v.Kind(q, end)
	switch {
	case k&char.Letters != 0:
		return letters(v, q, end, char.Letters)
	case k == char.Number:
		return run(v, q, end, char.Number)
	case k&visible != 0:
		return run(v, q, end, visible)
	}
	return white(v, p, end, gapSpaces)
}
