package cut

import "errors"

// A nested Cutter cuts with one cutter, and each of these pieces with another.
type nested struct {
	outer, inner Cutter
	level        int
}

// maxNested is the largest number of cutters in a sequence, less one.
const maxNested = 4

// A piece is a part of the text that the outer cutter found. It may be as long as the text, so its
// end is kept: to look for it in each call would take quadratic time.
type piece struct{ start, end int }

// Sequence returns the Cutter that applies all in turn, each to the pieces of the one before.
func Sequence(all []Cutter) (Cutter, error) {
	if len(all) > maxNested+1 {
		return nil, errors.New("too many in a sequence")
	}
	if len(all) == 0 {
		return Whole{}, nil
	}
	c := all[0]
	for i, inner := range all[1:] {
		c = nested{outer: c, inner: inner, level: i}
	}
	return c, nil
}

// Cut implements [Cutter].
func (c nested) Cut(t *Text, p, end int, ends []uint32) (n, next int) {
	of := &t.pieces[c.level]
	for n < len(ends) && p < end {
		if p <= of.start || p >= of.end {
			var one [1]uint32
			c.outer.Cut(t, p, end, one[:])
			*of = piece{start: p, end: int(one[0])}
		}
		k, q := c.inner.Cut(t, p, of.end, ends[n:])
		n, p = n+k, q
	}
	return n, p
}
