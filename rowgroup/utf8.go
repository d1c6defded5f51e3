package rowgroup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

var errUTF8 = errors.New("a string that is not UTF-8")

// isText says whether the values of a type must be UTF-8.
func (t Type) isText() bool { return t == TypeString || t == TypeEnum || t == TypeJSON }

// checkText makes sure that string values are UTF-8. The views lie within b, which begins at begin of the column's text.
func (c *column) checkText(vs []uint64, b []byte, begin uint64) error {
	if !c.field.Type.isText() || isASCII(b) {
		return nil
	}
	for i, v := range vs {
		s := c.text[v>>32:][:uint32(v)]
		if validUTF8(s) {
			continue
		}
		if c.d.utf8 == RefuseUTF8 {
			return fmt.Errorf("%w: %.40q", errUTF8, s)
		}
		vs[i] = c.replaceText(s)
	}
	return nil
}

// replaceText appends a value made good to the column's text.
func (c *column) replaceText(s []byte) uint64 {
	var good []byte
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		good = utf8.AppendRune(good, r)
		s = s[n:]
	}
	begin := uint64(c.textLen)
	copy(c.textRoom(len(good)), good)
	c.textLen += len(good)
	return begin<<32 | uint64(len(good))
}

// isASCII says whether no byte of b has its high bit set.
func isASCII(b []byte) bool {
	for ; len(b) >= 32; b = b[32:] {
		w := binary.LittleEndian.Uint64(b) | binary.LittleEndian.Uint64(b[8:]) | binary.LittleEndian.Uint64(b[16:]) | binary.LittleEndian.Uint64(b[24:])
		if w&highBits != 0 {
			return false
		}
	}
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// validUTF8 is utf8.Valid, faster for text of characters of two and three bytes.
func validUTF8(s []byte) bool {
	i := 0
	for len(s)-i >= 8 {
		w := binary.LittleEndian.Uint64(s[i:])
		if w&highBits == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(w&highBits) / 8
		if len(s)-i < 4 {
			break
		}
		for len(s)-i >= 4 && s[i] >= 0x80 {
			n := charBytes(binary.LittleEndian.Uint32(s[i:]))
			if n == 0 {
				return false
			}
			i += n
		}
	}
	return utf8.Valid(s[i:])
}

// charBytes is the length of the character at the beginning of w that is not ASCII, 0 when it is not valid.
func charBytes(w uint32) int {
	const (
		follow3, is3 = 0x00c0c000, 0x00808000
		follow4, is4 = 0xc0c0c000, 0x80808000
	)
	lead, second := byte(w), byte(w>>8)
	switch {
	case lead >= 0xe1 && lead <= 0xef && w&follow3 == is3 && (lead != 0xed || second < 0xa0):
		return 3
	case lead >= 0xc2 && lead <= 0xdf && second&0xc0 == 0x80:
		return 2
	case lead == 0xe0 && w&follow3 == is3 && second >= 0xa0:
		return 3
	case lead >= 0xf0 && lead <= 0xf4 && w&follow4 == is4 && (lead != 0xf0 || second >= 0x90) && (lead != 0xf4 || second < 0x90):
		return 4
	}
	return 0
}
