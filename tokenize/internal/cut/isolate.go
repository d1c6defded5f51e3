package cut

import (
	"github.com/shardfeed/shardfeed/tokenize/internal/char"
	"github.com/shardfeed/shardfeed/tokenize/internal/property"
)

// Numbers makes words of numbers, and of all text between two of them:
//
//	\p{N}{1,most}
type Numbers struct{ Most int } // 0 is any length

// Cut implements [Cutter].
func (c Numbers) Cut(t *Text, p, end int, ends []uint32) (n, next int) {
	for n < len(ends) && p < end {
		q := numbers(t.View, p, end, c.Most)
		if q == p {
			q = c.others(t.View, p, end)
		}
		p = q
		ends[n] = uint32(p)
		n++
	}
	return n, p
}

// others returns the end of the characters from p on that are not numbers.
func (Numbers) others(v char.View, p, end int) int {
	for p = toDigit(v, p, end); p < end; {
		k, size := v.Kind(p, end)
		if k == char.Number {
			break
		}
		if p += size; size == 1 {
			p = toDigit(v, p, end)
		}
	}
	return p
}

// Digits makes words of characters that are numeric for Rust, and of all text between two of them.
type Digits struct{ Individual bool } // each numeric character is a word

// Cut implements [Cutter].
func (c Digits) Cut(t *Text, p, end int, ends []uint32) (n, next int) {
	for n < len(ends) && p < end {
		q := c.others(t.View, p, end)
		if q == p {
			q = c.numeric(t.View, p, end)
		}
		p = q
		ends[n] = uint32(p)
		n++
	}
	return n, p
}

// others returns the end of the characters from p on that are not numeric.
func (Digits) others(v char.View, p, end int) int {
	for p = toDigit(v, p, end); p < end; {
		r, size := v.Rune(p)
		if isNumeric(r) {
			break
		}
		if p += size; size == 1 {
			p = toDigit(v, p, end)
		}
	}
	return p
}

// numeric returns the end of the numeric characters at p.
func (c Digits) numeric(v char.View, p, end int) int {
	for p < end {
		r, size := v.Rune(p)
		if !isNumeric(r) {
			break
		}
		if p += size; c.Individual {
			break
		}
	}
	return p
}

func isNumeric(r uint32) bool {
	return r-'0' < 10 || r >= 0x80 && property.Of(rune(r))&property.Numeric != 0
}

// CJK makes words of Chinese and Japanese characters, and of all text between two of them:
//
//	[一-龥぀-ゟ゠-ヿ]+
type CJK struct{}

// Cut implements [Cutter].
func (c CJK) Cut(t *Text, p, end int, ends []uint32) (n, next int) {
	for n < len(ends) && p < end {
		q := p
		for q < end && isCJK(t.View, q) {
			q += 3
		}
		if q == p {
			q = c.others(t.View, p, end)
		}
		p = q
		ends[n] = uint32(p)
		n++
	}
	return n, p
}

// others returns the end of the characters from p on that are not of CJK.
func (CJK) others(v char.View, p, end int) int {
	for p = toWide(v, p, end); p < end && !isCJK(v, p); {
		_, size := v.Rune(p)
		if p += size; size == 1 {
			p = toWide(v, p, end)
		}
	}
	return p
}

// isCJK reports whether the character at p is one of CJK, which have 3 bytes.
func isCJK(v char.View, p int) bool {
	r, _ := v.Rune(p)
	return r-0x4e00 <= 0x9fa5-0x4e00 || r-0x3040 <= 0x30ff-0x3040
}
