package normal

import (
	"sync"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/tokenize/internal/char"
	"github.com/shardfeed/shardfeed/tokenize/internal/property"
)

// An Each rewrites one character at a time.
type Each struct {
	// ascii has what each byte of ASCII becomes, or special.
	ascii [utf8.RuneSelf]byte
	// stays has the bits of code points that stay as they are.
	stays [codePoints / 64]uint64
	// to appends what r becomes.
	to func(dst []byte, r rune) []byte
	// most is the largest number of bytes that a byte becomes.
	most int
}

// special marks a byte of ASCII that does not become one byte of ASCII.
const special = 0xff

// newEach returns an Each that changes only code points with a property of changes and, if lowers is
// set, code points with a lower case.
func newEach(to func(dst []byte, r rune) []byte, changes property.Set, lowers bool) *Each {
	e := &Each{to: to, most: 1}
	for b := range e.ascii {
		e.ascii[b] = special
		if out := to(nil, rune(b)); len(out) == 1 && out[0] < utf8.RuneSelf {
			e.ascii[b] = out[0]
		}
	}
	of, ps := property.Load(), loadPoints()
	for r := range rune(codePoints) {
		if of.Of(r)&changes == 0 && !(lowers && ps.kinds[ps.kind(r)].lower > 0) {
			e.stays[r/64] |= 1 << (r % 64)
			continue
		}
		size := max(1, utf8.RuneLen(r))
		e.most = max(e.most, (len(to(nil, r))+size-1)/size)
	}
	return e
}

// Needs implements [Normalizer].
func (e *Each) Needs(text []byte) (size, beside int) { return e.most * len(text), 0 }

// Append implements [Normalizer].
func (e *Each) Append(dst, text []byte) (out []byte, changed bool) {
	v, done := char.Of(text), 0 // text up to done is in dst
	for p := 0; p < len(text); {
		r, size := uint32(text[p]), 1
		if r < utf8.RuneSelf {
			if e.ascii[r] == byte(r) {
				p++
				continue
			}
		} else if r, size = v.Rune(p); e.stays[r/64]>>(r%64)&1 != 0 {
			p += size
			continue
		}
		dst = append(dst, text[done:p]...)
		if r < utf8.RuneSelf && e.ascii[r] != special {
			dst = append(dst, e.ascii[r])
		} else {
			dst = e.to(dst, rune(r))
		}
		p += size
		done = p
	}
	if done == 0 {
		return dst, false
	}
	return append(dst, text[done:]...), true
}

// Lowercase is the lower case of Rust's char::to_lowercase: Unicode's, without context.
var Lowercase = sync.OnceValue(func() *Each { return newEach(lower, 0, true) })

func lower(dst []byte, r rune) []byte {
	ps := loadPoints()
	if n := ps.kinds[ps.kind(r)].lower; n > 0 {
		return append(dst, ps.texts[n]...)
	}
	return utf8.AppendRune(dst, r)
}

// StripAccents removes nonspacing marks.
var StripAccents = sync.OnceValue(func() *Each { return newEach(stripAccent, property.Accent, false) })

func stripAccent(dst []byte, r rune) []byte {
	if property.Of(r)&property.Accent != 0 {
		return dst
	}
	return utf8.AppendRune(dst, r)
}

func stripBertAccent(dst []byte, r rune) []byte {
	if property.Of(r)&property.BertAccent != 0 {
		return dst
	}
	return utf8.AppendRune(dst, r)
}

// Bert selects parts of BertNormalizer.
type Bert struct {
	CleanText    bool // removes control characters; white space becomes a space
	ChineseChars bool // puts spaces around ideographs
	StripAccents bool
	Lowercase    bool
}

// NewBert returns the normalizers that BertNormalizer applies.
func NewBert(b Bert) []Normalizer {
	var c []Normalizer
	switch {
	case b.CleanText && b.ChineseChars:
		c = append(c, newEach(func(dst []byte, r rune) []byte {
			if property.Of(r)&property.Ideograph != 0 {
				return separate(dst, r)
			}
			return clean(dst, r)
		}, property.Ideograph|cleaned, false))
	case b.CleanText:
		c = append(c, newEach(clean, cleaned, false))
	case b.ChineseChars:
		c = append(c, newEach(separate, property.Ideograph, false))
	}
	if b.StripAccents {
		c = append(c, NFD())
	}
	switch {
	case b.StripAccents && b.Lowercase:
		c = append(c, newEach(func(dst []byte, r rune) []byte {
			if property.Of(r)&property.BertAccent != 0 {
				return dst
			}
			return lower(dst, r)
		}, property.BertAccent, true))
	case b.StripAccents:
		c = append(c, newEach(stripBertAccent, property.BertAccent, false))
	case b.Lowercase:
		c = append(c, Lowercase())
	}
	return c
}

// cleaned has the properties of code points that clean changes.
const cleaned = property.BertControl | property.BertSpace

func clean(dst []byte, r rune) []byte {
	switch s := property.Of(r); {
	case s&property.BertControl != 0:
		return dst
	case s&property.BertSpace != 0:
		return append(dst, ' ')
	}
	return utf8.AppendRune(dst, r)
}

func separate(dst []byte, r rune) []byte {
	if property.Of(r)&property.Ideograph == 0 {
		return utf8.AppendRune(dst, r)
	}
	return append(utf8.AppendRune(append(dst, ' '), r), ' ')
}
