package rowgroup

import "fmt"

// Repeated prefixes take no bytes, so the values of a small page have no bound but this: so many
// times the pages' bytes, if that is more than the floor.
const (
	deltaGrowth = 1024
	deltaFloor  = 64 << 20
)

// deltaBytes walks the values of the DELTA_BYTE_ARRAY encoding: how many bytes of the value before
// begin each, and the bytes that follow.
type deltaBytes struct {
	prefixes, suffixes []uint32
	b                  []byte // suffixes, one behind the other
}

func (c *leafDecoder) readDeltaBytes(src []byte, n int) (d deltaBytes, err error) {
	lengths := asU32(c.d.lengths.take(8 * n))
	d.prefixes, d.suffixes = lengths[:n], lengths[n:2*n]
	used, err := decodeDeltaPrefix(d.prefixes, src)
	if err != nil {
		return d, err
	}
	src = src[used:]
	if used, err = decodeDeltaPrefix(d.suffixes, src); err != nil {
		return d, err
	}
	d.b = src[used:]
	return d, nil
}

// total is the number of bytes of all values. It fails when a prefix is longer than the value
// before or the suffixes than what is there.
func (d *deltaBytes) total() (int64, error) {
	total, suffixes, last := int64(0), int64(0), int64(0)
	for i, p := range d.prefixes {
		if int64(p) > last {
			return 0, fmt.Errorf("%w: a prefix of %d bytes of a value of %d", errDelta, p, last)
		}
		last = int64(p) + int64(d.suffixes[i])
		total += last
		suffixes += int64(d.suffixes[i])
	}
	if suffixes > int64(len(d.b)) {
		return 0, fmt.Errorf("%w: values of %d bytes where %d are left", errDelta, suffixes, len(d.b))
	}
	return total, nil
}

// prefixViews builds DELTA_BYTE_ARRAY values at the end of the column's text.
func (c *leafDecoder) prefixViews(dst []uint64, src []byte) error {
	d, err := c.readDeltaBytes(src, len(dst))
	if err != nil {
		return err
	}
	total, err := d.total()
	if err != nil {
		return err
	}
	if err := textBudget(int64(c.textLen) + total); err != nil {
		return err
	}
	if most := max(deltaFloor, deltaGrowth*c.scan.size); int64(c.textLen)+total > most {
		return fmt.Errorf("%w: values of over %d bytes in pages of %d", errDelta, most, c.scan.size)
	}
	begin := c.textLen
	text := c.textRoom(int(total))
	at, last := 0, 0
	for i, p := range d.prefixes {
		n := copy(text[at:], text[last:last+int(p)])
		k := copy(text[at+n:], d.b[:d.suffixes[i]])
		d.b = d.b[k:]
		dst[i] = uint64(begin+at)<<32 | uint64(n+k)
		at, last = at+n+k, at
	}
	c.textLen += int(total)
	return c.checkText(dst, text, false)
}

// decodeDeltaFixed builds DELTA_BYTE_ARRAY values of one width.
func (c *leafDecoder) decodeDeltaFixed(dst, src []byte, n int) error {
	d, err := c.readDeltaBytes(src, n)
	if err != nil {
		return err
	}
	if _, err := d.total(); err != nil {
		return err
	}
	w := c.stored
	for i, p := range d.prefixes {
		if int64(p)+int64(d.suffixes[i]) != int64(w) {
			return fmt.Errorf("%w: a value of %d bytes, not %d", errDelta, p+d.suffixes[i], w)
		}
		v := dst[i*w : (i+1)*w]
		if i > 0 {
			copy(v[:p], dst[(i-1)*w:])
		}
		d.b = d.b[copy(v[p:], d.b[:d.suffixes[i]]):]
	}
	return nil
}
