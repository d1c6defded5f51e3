package char

import (
	"math/bits"
	"sync"

	"github.com/shardfeed/shardfeed/tokenize/internal/property"
)

// Kinds is a set of kinds. A character has exactly one.
type Kinds uint16

// The kinds, and the general categories of Unicode in them.
const (
	Other  Kinds = 1 << iota // Cc, Cf, Co, Cn, except white space
	Lower                    // Ll
	Upper                    // Lu, Lt
	Letter                   // Lm, Lo
	Mark                     // Mn, Mc, Me
	Number                   // Nd, Nl, No
	Punct                    // Pc, Pd, Ps, Pe, Pi, Pf, Po
	Symbol                   // Sm, Sc, Sk, So
	Space                    // White_Space except Line
	Line                     // \r and \n

	Letters = Lower | Upper | Letter
	White   = Space | Line
)

const codePoints = 0x110000

// The tables are made with the first View, so that programs without one do not wait for them.
var (
	ready   sync.Once
	classes *property.Classes // the number of a kind's bit
	ascii   [256]Kinds        // 0 for bytes that are not ASCII
)

func load() {
	table := property.Load()
	classes = table.Classes(func(s property.Set) uint8 { return uint8(bits.TrailingZeros16(uint16(kindOf(s)))) })
	for r := range rune(0x80) {
		ascii[r] = 1 << classes.Of(r)
	}
	ascii['\r'], ascii['\n'] = Line, Line
}

// kindOf returns the kind of code points with some properties, Line apart.
func kindOf(s property.Set) Kinds {
	switch {
	case s&property.Space != 0:
		return Space
	case s&property.Ll != 0:
		return Lower
	case s&(property.Lu|property.Lt) != 0:
		return Upper
	case s&property.Letter != 0:
		return Letter
	case s&property.M != 0:
		return Mark
	case s&property.N != 0:
		return Number
	case s&property.P != 0:
		return Punct
	case s&property.S != 0:
		return Symbol
	}
	return Other
}

// KindOf returns the kind of a code point, which is not ASCII.
func KindOf(r uint32) Kinds { return 1 << (classes.Of(rune(r)) & 15) }

// ASCII returns the kind of a byte, 0 if it is not ASCII.
func ASCII(b byte) Kinds { return ascii[b] }
