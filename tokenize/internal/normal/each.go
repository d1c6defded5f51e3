package normal

import (
	"sync"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/tokenize/internal/property"
)

// An Each rewrites one character at a time.
type Each struct {
	// ascii has what each byte of ASCII becomes, or special.
	ascii [utf8.RuneSelf]byte
	// to appends what r becomes.
	to func(dst []byte, r rune) []byte
}

// special marks a byte of ASCII that does not become one byte of ASCII.
const special = 0xff

func newEach(to func(dst []byte, r rune) []byte) *Each {
	e := &Each{to: to}
	for b := range e.ascii {
		e.ascii[b] = special
		if out := to(nil, rune(b)); len(out) == 1 && out[0] < utf8.RuneSelf {
			e.ascii[b] = out[0]
		}
	}
	return e
}

// Append implements [Normalizer].
func (e *Each) Append(dst, text []byte) (out []byte, changed bool) {
	for p := 0; p < len(text); {
		if b := text[p]; b < utf8.RuneSelf && e.ascii[b] != special {
			dst = append(dst, e.ascii[b])
			p++
			continue
		}
		r, size := utf8.DecodeRune(text[p:])
		dst = e.to(dst, r)
		p += size
	}
	return dst, true
}

// Lowercase is the lower case of Rust's char::to_lowercase: Unicode's, without context.
var Lowercase = sync.OnceValue(func() *Each { return newEach(lower) })

func lower(dst []byte, r rune) []byte {
	ps := loadPoints()
	if n := ps.kinds[ps.kind(r)].lower; n > 0 {
		return append(dst, ps.texts[n]...)
	}
	return utf8.AppendRune(dst, r)
}

// StripAccents removes nonspacing marks.
var StripAccents = sync.OnceValue(func() *Each { return newEach(stripAccent) })

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
		}))
	case b.CleanText:
		c = append(c, newEach(clean))
	case b.ChineseChars:
		c = append(c, newEach(separate))
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
		}))
	case b.StripAccents:
		c = append(c, newEach(stripBertAccent))
	case b.Lowercase:
		c = append(c, Lowercase())
	}
	return c
}

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
