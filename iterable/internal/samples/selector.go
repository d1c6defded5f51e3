package samples

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/tokenize"
)

// A Selection is which of some rows of a row group are samples, and how often. It is valid until
// its selector's next one.
type Selection struct {
	Rows  int
	bits  []uint64 // row i is bit i%64 of word i/64; no bit is set behind the last row
	Times []uint8  // how often each kept row comes; nil is once

	Lengths []uint32 // tokens of each row, with a packing

	texts []textCount // of each row, where tokens of texts are counted
}

// A Selector applies rules to rows. It owns its scratch: one goroutine at a time uses it.
type Selector struct {
	Rules   *Rules
	eval    *rule.Evaluator
	marker  *rule.Marker
	bits    []uint64
	times   []uint8
	lengths []uint32
	texts   []textCount
	columns []rule.Column
	worked  func(Work) // see Reading.Worked
}

func (r *Rules) NewSelector() *Selector {
	s := &Selector{Rules: r}
	if r.filter != nil {
		s.eval = r.filter.NewEvaluator()
	}
	if r.part != nil {
		s.marker = r.part.Marker()
	}
	return s
}

// Begin selects rows [lo, hi) of a row group as far as their numbers decide.
func (s *Selector) Begin(group int, lo, hi int64) Selection {
	r, rows := s.Rules, int(hi-lo)
	words := (rows + 63) / 64
	s.bits = slices.Grow(s.bits[:0], words)[:words]
	Fill(s.bits, int64(rows))
	if r.part != nil && r.key < 0 {
		s.marker.ByRow(rule.Slice{First: r.first[group], Rows: r.rows[group], Lo: lo, Hi: hi}, s.bits)
	}
	if r.list != nil {
		r.list.And(group, lo, hi, s.bits)
	}
	if r.live != nil {
		r.live.And(group, lo, hi, s.bits)
	}
	return Selection{Rows: rows, bits: s.bits}
}

// Finish selects by row numbers, and then by the values of the rule columns; columns has them for
// the rows. passed reports that all rows are known to pass the filter. With a packing it finds the
// lengths of the rows too.
func (s *Selector) Finish(group int, lo, hi int64, columns []rule.Column, passed bool) (Selection, error) {
	sel, err := s.Choose(group, lo, hi, columns, passed)
	p := s.Rules.Pack
	if err != nil || p == nil || sel.empty() {
		return sel, err
	}
	if p.texts != nil {
		err = s.countTexts(&sel, columns, lo)
	} else {
		s.lengths, err = p.measure(&columns[p.lengths[0]], sel.Rows, s.lengths[:0])
	}
	sel.Lengths = s.lengths
	return sel, err
}

// countTexts counts the tokens of each row that is kept. lo is the first row.
func (s *Selector) countTexts(sel *Selection, columns []rule.Column, lo int64) error {
	k, began := s.Rules.Pack, time.Now()
	var work Work
	report := func() {
		if work.Took = time.Since(began); s.worked != nil {
			s.worked(work)
		}
		work, began = Work{}, time.Now()
	}
	err := k.texts.Use(func(e *tokenize.Encoder) (err error) {
		s.texts, err = rule.CountTexts(s.pick(columns, k.lengths), sel.Rows, sel.bits, func(row int, texts [][]byte) (textCount, error) {
			before, bytes := e.Specials(), 0
			for _, text := range texts {
				bytes += len(text)
			}
			n, err := e.Count(texts...)
			if err != nil {
				return textCount{}, fmt.Errorf("column %q, row %d of the row group: %w", k.texts.Column, lo+int64(row), err)
			}
			if work.Bytes += int64(bytes); work.Bytes >= workStep {
				report()
			}
			return textCount{bytes: uint32(bytes), tokens: uint32(n), special: e.Specials() > before}, nil
		}, s.texts[:0])
		return err
	})
	report()
	sel.texts = s.texts
	s.lengths = s.lengths[:0]
	for _, t := range s.texts {
		n := t.tokens
		if n > 0 {
			n += uint32(k.extra())
		}
		s.lengths = append(s.lengths, n)
	}
	return err
}

// Choose is Finish without lengths.
func (s *Selector) Choose(group int, lo, hi int64, columns []rule.Column, passed bool) (Selection, error) {
	r, sel := s.Rules, s.Begin(group, lo, hi)
	if r.filter != nil && !passed && !sel.empty() {
		kept, _, err := s.eval.Evaluate(sel.Rows, s.pick(columns, r.inputs))
		if err != nil {
			return sel, err
		}
		and(sel.bits, kept)
	}
	if r.part != nil && r.key >= 0 {
		if err := s.marker.ByKey(columns[r.key], sel.Rows, sel.bits); err != nil {
			return sel, err
		}
	}
	if r.Weight >= 0 && !sel.empty() {
		s.times = slices.Grow(s.times[:0], sel.Rows)[:sel.Rows]
		sel.Times = s.times
		if err := rule.Repeats(columns[r.Weight], r.seed, r.first[group]+lo, sel.bits, sel.Times); err != nil {
			return sel, err
		}
	}
	return sel, nil
}

// pick returns some of the rule columns.
func (s *Selector) pick(columns []rule.Column, which []int) []rule.Column {
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

// empty reports whether no row is kept.
func (s Selection) empty() bool {
	return !slices.ContainsFunc(s.bits, func(w uint64) bool { return w != 0 })
}

// Each calls f with the rows in [lo, hi) that are kept, ascending.
func (s Selection) Each(lo, hi int, f func(row int)) {
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

// AppendRows appends the rows that are kept to dst, ascending.
func (s Selection) AppendRows(dst []uint32) []uint32 {
	n := len(dst)
	dst = slices.Grow(dst, s.Rows+64)
	dst = dst[:cap(dst)]
	for w, word := range s.bits {
		first, to := uint32(64*w), (*[64]uint32)(dst[n:])
		kept := bits.OnesCount64(word)
		n += kept
		if kept > manyOf64 {
			listAll(to, first, word)
			continue
		}
		for i := 0; word != 0; word &= word - 1 {
			to[i&63] = first + uint32(bits.TrailingZeros64(word))
			i++
		}
	}
	return dst[:n]
}

// manyOf64 is how many rows of 64 must be kept for listAll to be the faster one.
const manyOf64 = 20

// listAll lists the numbers of the bits that are set in a word, from first on. It writes every
// number, and moves on only past those that are set: that takes no branch.
func listAll(to *[64]uint32, first uint32, word uint64) {
	i := 0
	for range 16 {
		to[i&63] = first
		i += int(word & 1)
		to[i&63] = first + 1
		i += int(word >> 1 & 1)
		to[i&63] = first + 2
		i += int(word >> 2 & 1)
		to[i&63] = first + 3
		i += int(word >> 3 & 1)
		first, word = first+4, word>>4
	}
}

// Documents appends the rows [lo, hi) that are kept to dst, each as often as it comes.
func (s Selection) Documents(lo, hi int, dst []uint32) []uint32 {
	s.Each(lo, hi, func(row int) {
		times := 1
		if s.Times != nil {
			times = int(s.Times[row])
		}
		for range times {
			dst = append(dst, uint32(row))
		}
	})
	return dst
}

// Samples of the rows [lo, hi), where each is one as often as it comes.
func (s Selection) Samples(lo, hi int) int64 {
	var n int64
	if s.Times != nil {
		s.Each(lo, hi, func(row int) { n += int64(s.Times[row]) })
		return n
	}
	if lo == 0 && hi == s.Rows {
		for _, w := range s.bits {
			n += int64(bits.OnesCount64(w))
		}
		return n
	}
	s.Each(lo, hi, func(int) { n++ })
	return n
}

// Miscounted is the error of a unit that does not have the samples that were counted.
func Miscounted(what string, counted, now int64) error {
	return fmt.Errorf("%w: %d %s were kept when they were counted, and %d are when they are loaded; open the data set again", shard.ErrChanged, counted, what, now)
}

// Fill sets the first n bits.
func Fill(b []uint64, n int64) {
	for i := range b {
		b[i] = ^uint64(0)
	}
	if n%64 > 0 {
		b[len(b)-1] = 1<<(n%64) - 1
	}
}
