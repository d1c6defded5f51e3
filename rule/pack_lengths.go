package rule

import (
	"math"
)

// Lengths appends the lengths of rows to dst, read from a column of integers, and adds extra to
// each length above 0. A null is 0. field is the option that names the column, for errors.
func Lengths(c Column, rows int, extra uint32, field string, dst []uint32) ([]uint32, error) {
	present := make([]uint64, wordsFor(rows))
	c.present(present, rows)
	entry := c.entries()
	var value func(i int) float64
	if !c.allNull() {
		value = floatsOf(c.Values)
	}
	for i := range rows {
		if present[i/64]>>(i%64)&1 == 0 {
			dst = append(dst, 0)
			continue
		}
		n := value(entry(i))
		if !(n >= 0 && n <= math.MaxInt32-2) {
			return dst, wrong(field, nil, "takes lengths from 0 to %d, got %.0f in column %q", math.MaxInt32-2, n, c.Values.Field.Name)
		}
		if l := uint32(n); l > 0 {
			dst = append(dst, l+extra)
		} else {
			dst = append(dst, 0)
		}
	}
	return dst, nil
}
