package added

import (
	"unicode"

	"github.com/shardfeed/shardfeed/tokenize/internal/char"
)

// isSpace reports whether r is \s of the regular expressions that tokenizers has for added tokens.
func isSpace(r rune) bool { return char.KindOf(uint32(r))&char.White != 0 }

// isWord reports whether r is \w there: letters, marks, decimal numbers and number letters, what
// else is alphabetic, connecting punctuation, and the two joiners.
func isWord(r rune) bool {
	switch k := char.KindOf(uint32(r)); k {
	case char.Number:
		return unicode.In(r, unicode.Nd, unicode.Nl, decimals16)
	case char.Punct:
		return unicode.Is(unicode.Pc, r)
	case char.Symbol:
		return unicode.Is(unicode.Other_Alphabetic, r)
	case char.Other:
		return unicode.Is(unicode.Join_Control, r)
	default:
		return k&(char.Letters|char.Mark) != 0
	}
}

// decimals16 are the decimal numbers that Unicode 16 has and package unicode lacks.
var decimals16 = &unicode.RangeTable{R32: []unicode.Range32{
	{Lo: 0x10d40, Hi: 0x10d49, Stride: 1},
	{Lo: 0x116d0, Hi: 0x116e3, Stride: 1},
	{Lo: 0x11bf0, Hi: 0x11bf9, Stride: 1},
	{Lo: 0x1ccf0, Hi: 0x1ccf9, Stride: 1},
	{Lo: 0x1e5f1, Hi: 0x1e5fa, Stride: 1},
}}
