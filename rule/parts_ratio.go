package rule

import (
	"math/bits"

	"github.com/shardfeed/shardfeed/shuffle"
)

// A part by exact ratio is drawn in runs of runRows rows of a row group, the last one shorter. The
// part of a row depends only on the numbers of the rows of its run, not on the units of the group
// or on the other runs that are read. So training and validation have the same parts for any
// unit_rows, shuffle and filters, if their list of shards is the same.
//
// A run of n rows whose first has number c among all rows of the manifest gives C(c+n) - C(c) rows
// to each part, C being the counts of the parts' ratio: the parts are exact within 3 rows over any
// number of runs. Part 0 has the first of these rows in the order perm(n) of the generator "part",
// part 1 the next, and so on. A sample divides the rows of its part likewise: those with numbers
// [x, y) among the part's rows give S(y) - S(x), the first in that order.
const runRows = 1 << 16

// A Slice is rows [Lo, Hi) of a row group of Rows rows. First is the number of the group's first
// row among all rows of the manifest, including shards that a filter drops: otherwise parts with
// different filters would not be disjoint.
type Slice struct {
	First, Rows int64
	Lo, Hi      int64
}

// A Marker looks which rows are of a part. It owns its scratch: one goroutine at a time uses it.
// Rows are bits: row i of a slice is bit i%64 of word i/64.
type Marker struct {
	part    *Part
	order   []uint32
	mask    []uint64
	present []uint64  // rows whose key is not null
	keys    Evaluator // only its scratch
	a, b    []int64
}

// Marker of the part.
func (p *Part) Marker() *Marker { return &Marker{part: p} }

// ByRow clears the bits of the slice's rows that are not of the part, by their numbers.
func (m *Marker) ByRow(s Slice, keep []uint64) {
	if m.part.All() {
		return
	}
	m.mark(s)
	for i, w := range m.mask {
		keep[i] &= w
	}
}

// Count is how many rows of the slice are of the part, by their numbers.
func (m *Marker) Count(s Slice) int64 {
	if m.part.All() {
		return s.Hi - s.Lo
	}
	var n int64
	if s.Lo == 0 && s.Hi == s.Rows {
		for lo := int64(0); lo < s.Rows; lo += runRows {
			from, to := m.places(s.First+lo, min(runRows, s.Rows-lo))
			n += to - from
		}
		return n
	}
	m.mark(s)
	for _, w := range m.mask {
		n += int64(bits.OnesCount64(w))
	}
	return n
}

// mark sets the bits of the part's rows in mask.
func (m *Marker) mark(s Slice) {
	m.mask = sized(m.mask, wordsFor(int(s.Hi-s.Lo)))
	clear(m.mask)
	for lo := s.Lo / runRows * runRows; lo < s.Hi; lo += runRows {
		n := min(runRows, s.Rows-lo)
		from, to := m.places(s.First+lo, n)
		m.order = shuffle.PartOrder(m.part.split.Seed, s.First+lo, int(n), m.order)
		for _, row := range m.order[from:to] {
			if at := lo + int64(row) - s.Lo; at >= 0 && at < s.Hi-s.Lo {
				m.mask[at/64] |= 1 << (at % 64)
			}
		}
	}
}

// places returns the places of the part's rows in the order of a run of n rows from number c on.
func (m *Marker) places(c, n int64) (from, to int64) {
	p, lo, hi := m.part, c, c+n // numbers among the rows that the sample divides
	to = n
	if p.ratio != nil {
		m.a, m.b = p.ratio.Counts(c, m.a), p.ratio.Counts(c+n, m.b)
		for i := range p.at {
			from += m.b[i] - m.a[i]
		}
		lo, hi = m.a[p.at], m.b[p.at]
		to = from + hi - lo
	}
	if p.sample != nil {
		m.a, m.b = p.sample.Counts(lo, m.a), p.sample.Counts(hi, m.b)
		to = from + m.b[0] - m.a[0]
	}
	return from, to
}
