package char

import (
	_ "embed"
	"encoding/binary"
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

// kindRanges lists the starts of ranges of one kind, as uint32 in little-endian: the first code point << 4
// | the number of the kind.
//
//go:embed kinds.bin
var kindRanges []byte

const (
	codePoints = 0x110000
	pageBits   = 7
)

type page [1 << pageBits]Kinds

var (
	pageOf [codePoints >> pageBits]uint8
	pages  []page
	ascii  [256]Kinds // 0 for bytes that are not ASCII
)

func init() {
	flat := make([]Kinds, codePoints)
	for d := kindRanges; len(d) >= 4; d = d[4:] {
		v, end := binary.LittleEndian.Uint32(d), uint32(codePoints)
		if len(d) >= 8 {
			end = binary.LittleEndian.Uint32(d[4:]) >> 4
		}
		for r := v >> 4; r < end; r++ {
			flat[r] = 1 << (v & 15)
		}
	}
	seen := map[page]uint8{}
	for i := range pageOf {
		p := page(flat[i<<pageBits:])
		n, ok := seen[p]
		if !ok {
			n = uint8(len(pages))
			seen[p] = n
			pages = append(pages, p)
		}
		pageOf[i] = n
	}
	copy(ascii[:0x80], flat)
}

// KindOf returns the kind of a code point.
func KindOf(r uint32) Kinds { return pages[pageOf[r>>pageBits]][r&(1<<pageBits-1)] }

// ASCII returns the kind of a byte, 0 if it is not ASCII.
func ASCII(b byte) Kinds { return ascii[b] }
