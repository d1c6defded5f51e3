package rowgroup

import (
	"encoding/binary"
	"errors"
	"fmt"
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

const highBits = 0x8080808080808080

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

func validUTF8(s []byte) bool { return utf8.Valid(s) }
