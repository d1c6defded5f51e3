package rowgroup

import (
	"fmt"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

// storeViews finds or builds len(dst) Binary values of a page.
func (c *leafDecoder) storeViews(p *page, o *openPage, dst []uint64) error {
	if c.stored > 0 {
		return c.storeFixedText(p.Encoding, dst, o.values)
	}
	b := o.values
	if p.Encoding == format.Plain || p.Encoding == format.DeltaLengthByteArray {
		if o.inText {
			// The levels stand before the values; they stay as a gap.
			c.textLen += p.Size - len(b) - p.RepBytes - p.DefBytes
		} else {
			b = c.takeText(b)
		}
	}
	switch p.Encoding {
	case format.Plain:
		return c.textViews(dst, b)
	case format.DeltaLengthByteArray:
		return c.lengthViews(dst, b)
	case format.DeltaByteArray:
		return c.prefixViews(dst, b)
	}
	return fmt.Errorf("%w: %v for %v", errEncoding, p.Encoding, c.leaf.typ)
}

// takeText returns values of the Raw as the end of the column's text: a copy, unless they are
// copied to their parts anyway.
func (c *leafDecoder) takeText(b []byte) []byte {
	if c.wide != nil && c.textLen == 0 && (!c.d.replace || !isText(c.field.Type)) {
		c.ownText, c.text = c.text, b[:len(b):len(b)]
		return b
	}
	t := c.textRoom(len(b))
	copy(t, b)
	return t
}

// lengthViews reads DELTA_LENGTH_BYTE_ARRAY: all lengths, then all bytes. b lies at the end of the
// column's text.
func (c *leafDecoder) lengthViews(dst []uint64, b []byte) error {
	lengths := mem.AsU32(c.d.lengths.take(4 * len(dst)))
	used, err := parquet.DecodeDelta(lengths, b)
	if err != nil {
		return err
	}
	begin := uint64(c.textLen)
	at := uint64(used)
	for i, n := range lengths {
		if uint64(n) > uint64(len(b))-at {
			return fmt.Errorf("%w: a value of %d bytes where %d are left", parquet.ErrShort, n, uint64(len(b))-at)
		}
		dst[i] = (begin+at)<<32 | uint64(n)
		at += uint64(n)
	}
	c.textLen += len(b)
	return c.checkText(dst, b[used:at], false)
}

// maxText is the bytes of values that 32-bit places can name.
const maxText = 1<<32 - 1<<20

func textBudget(n int64) error {
	if n > maxText {
		return &hintError{
			err:  fmt.Errorf("%d bytes of values in one unit, %d at most", n, int64(maxText)),
			hint: "write smaller row groups",
		}
	}
	return nil
}
