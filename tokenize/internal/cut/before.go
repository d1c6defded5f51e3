package cut

import "bytes"

// Before cuts before each Mark, which is a space or the character that represents one.
type Before struct{ Mark string }

// Cut implements [Cutter].
func (c Before) Cut(t *Text, p, end int, ends []uint32) (n, next int) {
	mark := []byte(c.Mark)
	text := t.Bytes(0, end)
	for n < len(ends) && p < end {
		q := p
		if bytes.HasPrefix(text[q:], mark) {
			q += len(mark)
		}
		if i := bytes.Index(text[q:], mark); i >= 0 {
			p = q + i
		} else {
			p = end
		}
		ends[n] = uint32(p)
		n++
	}
	return n, p
}
