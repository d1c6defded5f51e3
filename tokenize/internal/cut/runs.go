package cut

import (
	"math/bits"

	"github.com/shardfeed/shardfeed/tokenize/internal/char"
)

// bytes of a word, each of one value
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// outside returns the bytes of x outside first to last, which are ASCII, as their high bits.
func outside(x uint64, first, last byte) uint64 {
	low := x & (0x7f * ones)
	in := (low + ones*uint64(0x80-first)) &^ (low + ones*uint64(0x7f-last)) &^ x
	return ^in & highs
}

// lettersASCII returns the end of the ASCII letters from p on. It may be beyond the end of the text.
func lettersASCII(v char.View, p int) int {
	for ; ; p += 8 {
		x := v.Load64(p)
		if out := outside(x|0x20*ones, 'a', 'z') | x&highs; out != 0 {
			return p + bits.TrailingZeros64(out)>>3
		}
	}
}

// lowersASCII is lettersASCII of small letters.
func lowersASCII(v char.View, p int) int {
	for ; ; p += 8 {
		if out := outside(v.Load64(p), 'a', 'z'); out != 0 {
			return p + bits.TrailingZeros64(out)>>3
		}
	}
}

// toDigit returns the place of the first byte from p on that is a digit or not ASCII, or end.
func toDigit(v char.View, p, end int) int {
	for ; p < end; p += 8 {
		x := v.Load64(p)
		if found := (^outside(x, '0', '9') | x) & highs; found != 0 {
			return min(p+bits.TrailingZeros64(found)>>3, end)
		}
	}
	return end
}

// toWide returns the place of the first byte from p on that is not ASCII, or end.
func toWide(v char.View, p, end int) int {
	for ; p < end; p += 8 {
		if found := v.Load64(p) & highs; found != 0 {
			return min(p+bits.TrailingZeros64(found)>>3, end)
		}
	}
	return end
}

// run returns the end of the characters from p on whose kind is in set.
func run(v char.View, p, end int, set char.Kinds) int {
	for p < end {
		k, size := v.Kind(p, end)
		if k&set == 0 {
			break
		}
		p += size
	}
	return p
}

// letters is run for a set that has all letters.
func letters(v char.View, p, end int, set char.Kinds) int {
	for {
		p = lettersASCII(v, p)
		if p >= end {
			return end
		}
		for { // letters of one script follow each other
			if v.At(p) < 0x80 {
				if char.ASCII(v.At(p))&set != 0 {
					break
				}
				return p
			}
			r, size := v.Rune(p)
			if char.KindOf(r)&set == 0 {
				return p
			}
			if p += size; p >= end {
				return end
			}
		}
	}
}

// firstLetter returns the place after an ASCII letter at p, or after one that follows a space at p;
// else 0. Nearly every word starts so.
func firstLetter(v char.View, p, end int) int {
	x := v.At(p)
	if x == ' ' && p+1 < end {
		p++
		x = v.At(p)
	}
	if (x|0x20)-'a' < 26 {
		return p + 1
	}
	return 0
}

// asciiWord is letters, for text that is most often less than 8 ASCII letters.
func asciiWord(v char.View, p, end int, set char.Kinds) int {
	x := v.Load64(p)
	if out := outside(x|0x20*ones, 'a', 'z') | x&highs; out != 0 {
		// The first byte that is not a letter is the whole answer if it is ASCII.
		if n := bits.TrailingZeros64(out) &^ 7; x>>n&0x80 == 0 {
			return min(p+n>>3, end)
		}
	}
	return letters(v, p, end, set)
}

// numbers returns the end of at most n numbers from p on; any number of them if n is 0.
func numbers(v char.View, p, end, n int) int {
	for i := 0; n == 0 || i < n; i++ {
		k, size := v.Kind(p, end)
		if k != char.Number {
			break
		}
		p += size
	}
	return p
}

// lines returns the end of the line ends from p on, and of the slashes if slash is set.
func lines(v char.View, p, end int, slash bool) int {
	for p < end {
		if c := v.At(p); c != '\r' && c != '\n' && (c != '/' || !slash) {
			break
		}
		p++
	}
	return p
}

// A gap is the way a pattern cuts white space. Each takes the first match of the alternatives.
type gap int

const (
	gapSpaces gap = iota // \s+(?!\S)|\s+
	gapLines             // \s*[\r\n]+|\s+(?!\S)|\s+
	gapTail              // \s+$|\s*[\r\n]+|\s+(?!\S)|\s+
)

// white returns the end of the match at p, where white space is.
func white(v char.View, p, end int, g gap) int {
	q, last, line := p, p, 0 // last is the start of the last character, line the end of the last line end
	for q < end {
		k, size := v.Kind(q, end)
		if k&char.White == 0 {
			break
		}
		last = q
		if q += size; k == char.Line {
			line = q
		}
	}
	switch {
	case g == gapTail && q == end:
		return end
	case g != gapSpaces && line > 0:
		return line
	case q < end && last > p:
		return last
	}
	return q
}

// contraction returns the end of 's, 't, 'm, 'd, 're, 've or 'll at p, or p without one. With
// fold, capitals count too, and the long s, as (?i:'s) has it.
func contraction(v char.View, p, end int, fold bool) int {
	if p+1 >= end || v.At(p) != '\'' {
		return p
	}
	c, d := v.At(p+1), byte(0)
	if p+2 < end {
		d = v.At(p + 2)
	}
	if fold {
		if c == 0xc5 && d == 0xbf {
			return p + 3
		}
		c, d = lower(c), lower(d)
	}
	switch {
	case c == 's' || c == 't' || c == 'm' || c == 'd':
		return p + 2
	case (c == 'r' || c == 'v') && d == 'e' || c == 'l' && d == 'l':
		return p + 3
	}
	return p
}

func lower(c byte) byte {
	if c-'A' < 26 {
		return c | 0x20
	}
	return c
}
