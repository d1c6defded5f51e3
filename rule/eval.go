package rule

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/shardfeed/shardfeed/column"
)

// An Evaluator finds the rows of blocks that a filter keeps. It owns its scratch memory, which it
// uses for one block after the other: about a bit a row for each level of the filter, and a byte
// for each entry of a dictionary. One goroutine at a time may use it.
type Evaluator struct {
	filter  *Filter
	rows    int
	columns []Column
	free    [][]uint64 // bitmaps of wordsFor(rows) words
	kept    []uint64
	entries []uint64 // which entries of a dictionary pass
	coded   []uint64 // which of them rows have
	table   []byte   // the same, a byte each
}

// NewEvaluator returns an evaluator of the filter.
func (f *Filter) NewEvaluator() *Evaluator { return &Evaluator{filter: f} }

// Evaluate finds the rows of a block for which the filter is true. The columns must match
// [Filter.Inputs], in their order. Bit i%64 of word i/64 of kept is 1 if row i passes; n rows pass.
// The bitmap is valid until the next call.
func (e *Evaluator) Evaluate(rows int, columns []Column) (kept []uint64, n int, err error) {
	if len(columns) != len(e.filter.inputs) {
		return nil, 0, fmt.Errorf("the filter reads %d columns, got %d", len(e.filter.inputs), len(columns))
	}
	for i := range columns {
		if err := columns[i].check(&e.filter.inputs[i], rows); err != nil {
			return nil, 0, err
		}
	}
	e.resize(rows)
	e.columns = columns
	e.run(e.filter.root, e.kept, nil)
	e.columns = nil
	for _, w := range e.kept {
		n += bits.OnesCount64(w)
	}
	return e.kept, n, nil
}

// resize makes the bitmaps fit the rows.
func (e *Evaluator) resize(rows int) {
	e.rows = rows
	words := wordsFor(rows)
	if cap(e.kept) < words {
		e.kept, e.free = make([]uint64, words), nil
	}
	e.kept = e.kept[:words]
}

// take returns a bitmap for the block's rows, with any bits.
func (e *Evaluator) take() []uint64 {
	if len(e.free) == 0 {
		return make([]uint64, len(e.kept), cap(e.kept))
	}
	b := e.free[len(e.free)-1]
	e.free = e.free[:len(e.free)-1]
	return b[:len(e.kept)]
}

func (e *Evaluator) give(b []uint64) { e.free = append(e.free, b) }

// run sets the bits of the rows in mask for which n is true, and clears the bits of the other rows
// in it; a nil mask is all rows. Bits of rows outside the mask are undefined.
func (e *Evaluator) run(n bound, dst, mask []uint64) {
	switch n := n.(type) {
	case *leaf:
		e.leaf(n, dst, mask)
	case *branch:
		if n.or {
			e.or(n, dst, mask)
		} else {
			e.and(n, dst, mask)
		}
	}
}

// and evaluates each part for the remaining rows, and stops when no row remains.
func (e *Evaluator) and(n *branch, dst, mask []uint64) {
	e.run(n.of[0], dst, mask)
	part := e.take()
	for _, m := range n.of[1:] {
		if isZero(dst) {
			break
		}
		e.run(m, part, dst)
		for w := range dst {
			dst[w] &= part[w]
		}
	}
	e.give(part)
}

// or asks each part about the rows that are not in yet, and stops when all are.
func (e *Evaluator) or(n *branch, dst, mask []uint64) {
	e.run(n.of[0], dst, mask)
	part, rest := e.take(), e.take()
	for _, m := range n.of[1:] {
		if mask == nil {
			fill(rest, e.rows, true)
		} else {
			copy(rest, mask)
		}
		for w := range rest {
			rest[w] &^= dst[w]
		}
		if isZero(rest) {
			break
		}
		e.run(m, part, rest)
		for w := range dst {
			dst[w] |= part[w]
		}
	}
	e.give(part)
	e.give(rest)
}

// leaf sets the bits of the rows for which a leaf is true.
func (e *Evaluator) leaf(l *leaf, dst, mask []uint64) {
	c := &e.columns[l.input]
	present := e.take()
	defer e.give(present)
	c.present(present, e.rows)
	switch {
	case l.match == nil && l.negate:
		copy(dst, present)
	case l.match == nil:
		fill(dst, e.rows, true)
		subtract(dst, present)
	case c.allNull():
		clear(dst)
	default:
		e.matches(l.match, c, dst, mask)
		if l.negate {
			for w := range dst {
				dst[w] = present[w] &^ dst[w]
			}
			return
		}
		for w := range dst {
			dst[w] &= present[w]
		}
	}
}

func subtract(dst, b []uint64) {
	for w := range dst {
		dst[w] &^= b[w]
	}
}

// matches sets the bits of the rows whose value passes; bits of nulls are undefined.
func (e *Evaluator) matches(m matcher, c *Column, dst, mask []uint64) {
	if c.Codes == nil && !c.Constant {
		m.match(dst, mask, c.Values)
		return
	}
	n := c.Values.Len
	var used []uint64
	if _, costly := m.(*searches); costly && n > e.rows && !c.Constant {
		used = e.used(c)
	}
	entries := e.matchEntries(m, used, c.Values)
	switch {
	case isZero(entries):
		clear(dst)
	case isFull(entries, n):
		fill(dst, e.rows, true)
	default:
		e.expand(c, dst, mask, entries, n)
	}
}

// used marks the entries of a dictionary that rows have, since a block may have far fewer rows than
// its dictionary has entries.
func (e *Evaluator) used(c *Column) []uint64 {
	e.coded = slices.Grow(e.coded[:0], wordsFor(c.Values.Len))[:wordsFor(c.Values.Len)]
	clear(e.coded)
	switch c.CodeWidth {
	case 1:
		mark(e.coded, asSlice[uint8](c.Codes, e.rows))
	case 2:
		mark(e.coded, asSlice[uint16](c.Codes, e.rows))
	default:
		mark(e.coded, asSlice[uint32](c.Codes, e.rows))
	}
	return e.coded
}

func mark[C uint8 | uint16 | uint32](set []uint64, codes []C) {
	for _, c := range codes {
		set[c/64] |= 1 << (c % 64)
	}
}

// matchEntries asks once for each entry of a dictionary, or for a constant.
func (e *Evaluator) matchEntries(m matcher, used []uint64, a *column.Array) []uint64 {
	words := wordsFor(a.Len)
	if cap(e.entries) < words {
		e.entries = make([]uint64, words)
	}
	entries := e.entries[:words]
	m.match(entries, used, a)
	return entries
}

// expand gives each row the bit of its entry.
func (e *Evaluator) expand(c *Column, dst, mask, entries []uint64, n int) {
	if cap(e.table) < n {
		e.table = make([]byte, n)
	}
	table := e.table[:n]
	for i := range table {
		table[i] = byte(entries[i/64] >> (i % 64) & 1)
	}
	switch c.CodeWidth {
	case 1:
		look(dst, mask, asSlice[uint8](c.Codes, e.rows), table)
	case 2:
		look(dst, mask, asSlice[uint16](c.Codes, e.rows), table)
	default:
		look(dst, mask, asSlice[uint32](c.Codes, e.rows), table)
	}
}

func look[C uint8 | uint16 | uint32](dst, mask []uint64, codes []C, table []byte) {
	for w := range dst {
		if mask != nil && mask[w] == 0 {
			dst[w] = 0
			continue
		}
		part := codes[w*64 : min(w*64+64, len(codes))]
		m := uint64(0)
		for _, c := range part {
			m = m>>1 | uint64(table[c])<<63
		}
		dst[w] = m >> (64 - len(part))
	}
}
