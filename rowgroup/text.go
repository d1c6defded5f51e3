package rowgroup

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
	"unsafe"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// storeViews finds or builds len(dst) Binary values of a page.
func (c *leafDecoder) storeViews(p *page, o *openPage, dst []uint64) error {
	if c.stored > 0 {
		return c.storeFixedText(p.Encoding, dst, o.values)
	}
	b := o.values
	if p.Encoding == format.Plain || p.Encoding == format.DeltaLengthByteArray {
		if o.inText {
			// The levels are before the values; they stay as a gap.
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
	return fmt.Errorf("%w: %v for %v", errEncoding, p.Encoding, c.leaf.Type)
}

// takeText returns values of the Raw as the end of the column's text: a copy, unless they are
// copied to their parts anyway.
func (c *leafDecoder) takeText(b []byte) []byte {
	if c.wide != nil && c.textLen == 0 && (!c.d.replace || !schema.IsText(c.field.Type)) {
		c.ownText, c.text = c.text, b[:len(b):len(b)]
		return b
	}
	t := c.textRoom(len(b))
	copy(t, b)
	return t
}

// lengthViews reads DELTA_LENGTH_BYTE_ARRAY: all lengths, then all bytes. b is at the end of the
// column's text.
func (c *leafDecoder) lengthViews(dst []uint64, b []byte) error {
	lengths := mem.As[uint32](c.d.lengths.take(4 * len(dst)))
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
		return &sizeError{
			err:  fmt.Errorf("%d bytes of values in one unit, %d at most", n, int64(maxText)),
			hint: "write smaller row groups",
		}
	}
	return nil
}

// prefixViews builds DELTA_BYTE_ARRAY values at the end of the column's text. Their lengths come
// first and determine how much memory they take. Values that exceed the estimate of blocks share
// bytes with the values before.
func (c *leafDecoder) prefixViews(dst []uint64, src []byte) error {
	d, err := parquet.ReadDeltaBytes(mem.As[uint32](c.d.lengths.take(8*len(dst))), src, len(dst))
	if err != nil {
		return err
	}
	total, shared, err := d.Sizes()
	if err != nil {
		return err
	}
	share := total > footer.PrefixGrowth*int64(len(src))
	if share {
		total = shared
	}
	if err := textBudget(int64(c.textLen) + total); err != nil {
		return err
	}
	text := c.textRoom(int(total))
	d.Build(text, dst, uint64(c.textLen), share)
	c.textLen += int(total)
	if share && schema.IsText(c.field.Type) && c.cutsRunes(dst) {
		return c.checkEach(dst)
	}
	return c.checkText(dst, text, false)
}

// cutsRunes reports whether a value ends within a character of a longer one with which it shares
// bytes.
func (c *leafDecoder) cutsRunes(vs []uint64) bool {
	for _, v := range vs {
		if end := v>>32 + uint64(uint32(v)); end < uint64(c.textLen) && !utf8.RuneStart(c.text[end]) {
			return true
		}
	}
	return false
}

// decodeDeltaFixed builds DELTA_BYTE_ARRAY values of one width.
func (c *leafDecoder) decodeDeltaFixed(dst, src []byte, n int) error {
	d, err := parquet.ReadDeltaBytes(mem.As[uint32](c.d.lengths.take(8*n)), src, n)
	if err != nil {
		return err
	}
	if _, _, err := d.Sizes(); err != nil {
		return err
	}
	w := c.stored
	for i, p := range d.Prefixes {
		if int64(p)+int64(d.Suffixes[i]) != int64(w) {
			return fmt.Errorf("%w: a value of %d bytes, not %d", parquet.ErrDelta, p+d.Suffixes[i], w)
		}
		v := dst[i*w : (i+1)*w]
		if i > 0 {
			copy(v[:p], dst[(i-1)*w:])
		}
		d.B = d.B[copy(v[p:], d.B[:d.Suffixes[i]]):]
	}
	return nil
}

// checkText makes sure that string values are UTF-8. b holds the values that the views name; where
// separated, each has its length of four bytes before it, else they are side by side.
func (c *leafDecoder) checkText(vs []uint64, b []byte, separated bool) error {
	if !schema.IsText(c.field.Type) || c.allText(vs, b, separated) {
		return nil
	}
	return c.checkEach(vs)
}

// checkEach checks values one by one, and equal views once.
func (c *leafDecoder) checkEach(vs []uint64) error {
	var last, good uint64
	for i, v := range vs {
		if v == last {
			vs[i] = good
			continue
		}
		last, good = v, v
		s := c.text[v>>32:][:uint32(v)]
		if parquet.ValidUTF8(s) {
			continue
		}
		if !c.d.replace {
			return &block.TextError{Text: string(s[:min(len(s), 200)])}
		}
		good = c.replaceText(s)
		vs[i] = good
	}
	return nil
}

// allText reports whether all values are UTF-8 by looking at b as a whole; false means that it
// cannot tell. Lengths whose bytes are ASCII part values as letters would; the others, which are
// known by now, become zeros. Values side by side must also not start inside of a character.
func (c *leafDecoder) allText(vs []uint64, b []byte, separated bool) bool {
	lengths, inside := uint64(0), false
	for _, v := range vs {
		lengths |= v
		inside = inside || !separated && uint32(v) > 0 && !utf8.RuneStart(c.text[v>>32])
	}
	if separated && lengths&notASCII != 0 {
		if c.ownText != nil { // so that the text is not ours to write to
			return false
		}
		c.clearLengths(vs)
	}
	return !inside && parquet.ValidUTF8(b)
}

// notASCII are the bits of a length that make one of its bytes no letter.
const notASCII = 0x80808080

// clearLengths makes zeros of the lengths before values, where these bytes are not ASCII.
func (c *leafDecoder) clearLengths(vs []uint64) {
	for _, v := range vs {
		if v&notASCII != 0 {
			binary.LittleEndian.PutUint32(c.text[v>>32-4:], 0)
		}
	}
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

// textRoom returns n bytes at the end of the column's text.
func (c *leafDecoder) textRoom(n int) []byte {
	if need := c.textLen + n; need > len(c.text) {
		c.growText(need)
	}
	return c.text[c.textLen : c.textLen+n : c.textLen+n+parquet.CodecSlack]
}

func (c *leafDecoder) growText(n int) {
	if c.wide != nil {
		c.text = c.d.wide.extend(c.textLen, n)
	} else {
		c.text = c.textArena().Grow(c.text, n)
	}
}

// textArena is where the text is: with codes it is the dictionary's.
func (c *leafDecoder) textArena() *mem.Arena {
	if c.form == codes {
		return c.keep
	}
	return c.arena
}

func sameMemory(a, b []byte) bool { return unsafe.SliceData(a) == unsafe.SliceData(b) }
