package rowgroup

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

var errUTF8 = errors.New("a string that is not UTF-8")

// isText says whether the values of a type must be UTF-8.
func isText(t column.Type) bool {
	return t == column.TypeString || t == column.TypeEnum || t == column.TypeJSON
}

// checkText makes sure that string values are UTF-8. b holds the values that the views name; where
// separated, each has its length of four bytes before it, else they stand side by side.
func (c *leafDecoder) checkText(vs []uint64, b []byte, separated bool) error {
	if !isText(c.field.Type) || c.allText(vs, b, separated) {
		return nil
	}
	for i, v := range vs {
		s := c.text[v>>32:][:uint32(v)]
		if parquet.ValidUTF8(s) {
			continue
		}
		if !c.d.replace {
			return fmt.Errorf("%w: %.40q", errUTF8, s)
		}
		vs[i] = c.replaceText(s)
	}
	return nil
}

// allText says whether all values are UTF-8 by looking at b as a whole; false means that it cannot
// tell. Lengths whose bytes are ASCII part values as letters would. Values side by side must also
// not begin inside of a character.
func (c *leafDecoder) allText(vs []uint64, b []byte, separated bool) bool {
	lengths, inside := uint64(0), false
	for _, v := range vs {
		lengths |= v
		inside = inside || !separated && uint32(v) > 0 && !utf8.RuneStart(c.text[v>>32])
	}
	if separated && lengths&0x80808080 != 0 {
		return parquet.IsASCII(b)
	}
	return !inside && parquet.ValidUTF8(b)
}

// replaceText appends a value made good to the column's text.
func (c *leafDecoder) replaceText(s []byte) uint64 {
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
