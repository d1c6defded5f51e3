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
			q = run(t.View, p, end, ^char.Number)
		}
		p = q
		ends[n] = uint32(p)
		n++
	}
	return n, p
}

// Digits makes words of characters that are numeric for Rust, and of all text between two of them.
type Digits struct{ Individual bool } // each numeric character is a word

// Cut implements [Cutter].
func (c Digits) Cut(t *Text, p, end int, ends []uint32) (n, next int) {
	for n < len(ends) && p < end {
		q, first, in := p, true, false
		for q < end {
			r, size := t.Rune(q)
			is := r-'0' < 10 || r >= 0x80 && property.Of(rune(r))&property.Numeric != 0
			if !first && (is != in || is && c.Individual) {
				break
			}
			first, in = false, is
			q += size
		}
		p = q
		ends[n] = uint32(p)
		n++
	}
	return n, p
}

// CJK makes words of Chinese and Japanese characters, and of all text between two of them:
//
//	[一-龥぀-ゟ゠-ヿ]+
type CJK struct{}

// Cut implements [Cutter].
func (CJK) Cut(t *Text, p, end int, ends []uint32) (n, next int) {
	for n < len(ends) && p < end {
		first, in := true, false
		for p < end {
			r, size := t.Rune(p)
			if is := r-0x4e00 <= 0x9fa5-0x4e00 || r-0x3040 <= 0x30ff-0x3040; first {
				first, in = false, is
			} else if is != in {
				break
			}
			p += size
		}
		ends[n] = uint32(p)
		n++
	}
	return n, p
}
