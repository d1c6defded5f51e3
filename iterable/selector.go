package iterable

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
)

// A selection is which of some rows of a row group are samples, and how often. It is valid until
// its selector's next one.
type selection struct {
	rows  int
	bits  []uint64 // row i is bit i%64 of word i/64; no bit is set behind the last row
	times []uint8  // how often each row comes, where it is kept; nil is once

	lengths []uint32 // tokens of each row, with a packing
}

// A selector applies rules to rows. It owns its scratch: one goroutine at a time uses it.
type selector struct {
	rules   *rules
	eval    *rule.Evaluator
	marker  *rule.Marker
	bits    []uint64
	times   []uint8
	lengths []uint32
	columns []rule.Column
}

func (r *rules) newSelector() *selector {
	s := &selector{rules: r}
	if r.filter != nil {
		s.eval = r.filter.NewEvaluator()
	}
	if r.part != nil {
		s.marker = r.part.Marker()
	}
	return s
}

// begin selects rows [lo, hi) of a row group as far as their numbers decide.
func (s *selector) begin(group int, lo, hi int64) selection {
	r, rows := s.rules, int(hi-lo)
	words := (rows + 63) / 64
	s.bits = slices.Grow(s.bits[:0], words)[:words]
	fill(s.bits, int64(rows))
	if r.part != nil && r.key < 0 {
		s.marker.ByRow(rule.Slice{First: r.first[group], Rows: r.rows[group], Lo: lo, Hi: hi}, s.bits)
	}
	if r.list != nil {
		r.list.And(group, lo, hi, s.bits)
	}
	return selection{rows: rows, bits: s.bits}
}

// finish is begin, and then what the values of the rule columns decide; columns has those of the
// rows. passed says that all rows are known to pass the filter.
func (s *selector) finish(group int, lo, hi int64, columns []rule.Column, passed bool) (selection, error) {
	r, sel := s.rules, s.begin(group, lo, hi)
	if r.filter != nil && !passed && !sel.empty() {
		kept, _, err := s.eval.Evaluate(sel.rows, s.pick(columns, r.inputs))
		if err != nil {
			return sel, err
		}
		and(sel.bits, kept)
	}
	if r.part != nil && r.key >= 0 {
		if err := s.marker.ByKey(columns[r.key], sel.rows, sel.bits); err != nil {
			return sel, err
		}
	}
	if r.weight >= 0 && !sel.empty() {
		s.times = slices.Grow(s.times[:0], sel.rows)[:sel.rows]
		sel.times = s.times
		if err := rule.Repeats(columns[r.weight], r.seed, r.first[group]+lo, sel.bits, sel.times); err != nil {
			return sel, err
		}
	}
	if r.pack != nil && !sel.empty() {
		var err error
		s.lengths, err = r.pack.measure(&columns[r.pack.lengths], sel.rows, s.lengths[:0])
		sel.lengths = s.lengths
		return sel, err
	}
	return sel, nil
}

// pick returns some of the rule columns.
func (s *selector) pick(columns []rule.Column, which []int) []rule.Column {
	s.columns = s.columns[:0]
	for _, i := range which {
		s.columns = append(s.columns, columns[i])
	}
	return s.columns
}

func and(dst, b []uint64) {
	for i := range dst {
		dst[i] &= b[i]
	}
}

// empty says that no row is kept.
func (s selection) empty() bool {
	return !slices.ContainsFunc(s.bits, func(w uint64) bool { return w != 0 })
}

// each calls f with the rows in [lo, hi) that are kept, ascending.
func (s selection) each(lo, hi int, f func(row int)) {
	for w := lo / 64; w*64 < hi; w++ {
		word := s.bits[w]
		if w == lo/64 {
			word &= ^uint64(0) << (lo % 64)
		}
		if left := hi - w*64; left < 64 {
			word &= 1<<left - 1
		}
		for ; word != 0; word &= word - 1 {
			f(w*64 + bits.TrailingZeros64(word))
		}
	}
}

// documents appends the rows [lo, hi) that are kept to dst, each as often as it comes.
func (s selection) documents(lo, hi int, dst []uint32) []uint32 {
	s.each(lo, hi, func(row int) {
		dst = append(dst, uint32(row))
		for n := 1; s.times != nil && n < int(s.times[row]); n++ {
			dst = append(dst, uint32(row))
		}
	})
	return dst
}

// samples of the rows [lo, hi), where each is one as often as it comes.
func (s selection) samples(lo, hi int) int64 {
	var n int64
	if s.times != nil {
		s.each(lo, hi, func(row int) { n += int64(s.times[row]) })
		return n
	}
	if lo == 0 && hi == s.rows {
		for _, w := range s.bits {
			n += int64(bits.OnesCount64(w))
		}
		return n
	}
	s.each(lo, hi, func(int) { n++ })
	return n
}

// errMiscounted is the error of a unit that does not have the samples that were counted.
func errMiscounted(what string, counted, now int64) error {
	return fmt.Errorf("%w: %d %s were kept when they were counted, and %d are when they are loaded; open the data set again", shard.ErrChanged, counted, what, now)
}
