package rowgroup

import (
	"fmt"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

// Repeated prefixes take no bytes, so the values of a small page have no bound but this: so many
// times the pages' bytes, if that is more than the floor.
const (
	deltaGrowth = 1024
	deltaFloor  = 64 << 20
)

// prefixViews builds DELTA_BYTE_ARRAY values at the end of the column's text.
func (c *leafDecoder) prefixViews(dst []uint64, src []byte) error {
	d, err := parquet.ReadDeltaBytes(mem.AsU32(c.d.lengths.take(8*len(dst))), src, len(dst))
	if err != nil {
		return err
	}
	total, err := d.Total()
	if err != nil {
		return err
	}
	if err := textBudget(int64(c.textLen) + total); err != nil {
		return err
	}
	if most := max(deltaFloor, deltaGrowth*c.scan.size); int64(c.textLen)+total > most {
		return fmt.Errorf("%w: values of over %d bytes in pages of %d", parquet.ErrDelta, most, c.scan.size)
	}
	begin := c.textLen
	text := c.textRoom(int(total))
	at, last := 0, 0
	for i, p := range d.Prefixes {
		n := copy(text[at:], text[last:last+int(p)])
		k := copy(text[at+n:], d.B[:d.Suffixes[i]])
		d.B = d.B[k:]
		dst[i] = uint64(begin+at)<<32 | uint64(n+k)
		at, last = at+n+k, at
	}
	c.textLen += int(total)
	return c.checkText(dst, text, false)
}

// decodeDeltaFixed builds DELTA_BYTE_ARRAY values of one width.
func (c *leafDecoder) decodeDeltaFixed(dst, src []byte, n int) error {
	d, err := parquet.ReadDeltaBytes(mem.AsU32(c.d.lengths.take(8*n)), src, n)
	if err != nil {
		return err
	}
	if _, err := d.Total(); err != nil {
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
