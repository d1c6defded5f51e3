package rule

import (
	"cmp"
	"encoding/binary"
	"math/big"
	"math/bits"
	"slices"

	"github.com/shardfeed/shardfeed/column"
)

// A wideKey is a number of up to 256 bits whose words, most significant first, order as unsigned
// numbers do.
type wideKey [4]uint64

func (k wideKey) compare(l wideKey) int {
	for i := range k {
		if c := cmp.Compare(k[i], l[i]); c != 0 {
			return c
		}
	}
	return 0
}

const signBit = 1 << 63

// wideKeyOf is the key of a value of 12 bytes (INT96), or of 16 or 32 (decimals).
func wideKeyOf(v []byte) wideKey {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(v[i*8:]) }
	switch len(v) {
	case 12:
		nanos, day := int64(word(0)), int64(int32(binary.LittleEndian.Uint32(v[8:])))
		return int96Key(day, nanos)
	case 16:
		return wideKey{word(1) ^ signBit, word(0)}
	}
	return wideKey{word(3) ^ signBit, word(2), word(1), word(0)}
}

// int96Key is the key of a Julian day and nanoseconds of it, which some writers let run over.
func int96Key(day, nanos int64) wideKey {
	over := nanos / nanosOfDay
	if nanos %= nanosOfDay; nanos < 0 {
		over, nanos = over-1, nanos+nanosOfDay
	}
	return wideKey{uint64(day+over) ^ signBit, uint64(nanos)}
}

// decimalBytes is a decimal's unscaled number as stored in width bytes.
func decimalBytes(n *big.Int, width int) []byte {
	b := make([]byte, width)
	if n.Sign() < 0 {
		n = new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*width)))
	}
	n.FillBytes(b)
	slices.Reverse(b)
	return b
}

// plus returns k + n; words is the number of words in use.
func (k wideKey) plus(n uint64, words int) wideKey {
	carry := n
	for i := words - 1; i >= 0; i-- {
		k[i], carry = bits.Add64(k[i], carry, 0)
	}
	return k
}

// minus returns k - n.
func (k wideKey) minus(n uint64, words int) wideKey {
	borrow := n
	for i := words - 1; i >= 0; i-- {
		k[i], borrow = bits.Sub64(k[i], borrow, 0)
	}
	return k
}

// wides tests decimals of 16 and 32 bytes and INT96.
type wides struct {
	lo, hi wideKey // nothing passes when lo is greater
	sorted []wideKey
	set    map[wideKey]struct{} // nil: all from lo to hi
	stored [][]byte             // the values of = and in
}

// newWides tests by an operator; stored holds the values in the column's form, and is nil if a
// value has several forms.
func newWides(o op, keys []wideKey, words int, stored [][]byte) *wides {
	const most = 1<<64 - 1
	m := &wides{lo: keys[0], hi: keys[len(keys)-1]}
	first, last := wideKey{}, wideKey{most, most, most, most}
	switch o {
	case opLess: // no literal is the least or greatest key: they have more digits than any type
		m.lo, m.hi = first, keys[0].minus(1, words)
	case opAtMost:
		m.lo = first
	case opGreater:
		m.lo, m.hi = keys[0].plus(1, words), last
	case opAtLeast:
		m.hi = last
	case opIn:
		m.fill(keys)
	}
	if (o == opEqual || o == opIn) && len(stored) <= maxMembers {
		m.stored = stored
	}
	return m
}

// fill makes it a test for the members of a list.
func (m *wides) fill(keys []wideKey) {
	m.sorted = slices.Clone(keys)
	slices.SortFunc(m.sorted, wideKey.compare)
	m.sorted = slices.Compact(m.sorted)
	m.lo, m.hi = m.sorted[0], m.sorted[len(m.sorted)-1]
	m.set = make(map[wideKey]struct{}, len(m.sorted))
	for _, k := range m.sorted {
		m.set[k] = struct{}{}
	}
}

func (m *wides) match(dst, mask []uint64, a *column.Array) {
	if a.Field.Width == 16 && m.set == nil {
		m.matchRange(dst, mask, asSlice[[2]uint64](a.Data, a.Len))
		return
	}
	width := a.Field.Width
	eachRow(dst, mask, a.Len, func(i int) bool { return m.passes(wideKeyOf(a.Data[i*width : (i+1)*width])) })
}

// matchRange tests decimals of 16 bytes: the borrow of a subtraction shows the smaller number.
func (m *wides) matchRange(dst, mask []uint64, values [][2]uint64) {
	lo, hi := m.lo, m.hi
	for w := range dst {
		if mask != nil && mask[w] == 0 {
			dst[w] = 0
			continue
		}
		part := values[w*64 : min(w*64+64, len(values))]
		word := uint64(0)
		for i := range part {
			low, high := part[i][0], part[i][1]^signBit
			_, less := bits.Sub64(low, lo[1], 0)
			_, less = bits.Sub64(high, lo[0], less)
			_, more := bits.Sub64(hi[1], low, 0)
			_, more = bits.Sub64(hi[0], high, more)
			word = word>>1 | ((less|more)^1)<<63
		}
		dst[w] = word >> (64 - len(part))
	}
}

func (m *wides) passes(k wideKey) bool {
	if k.compare(m.lo) < 0 || k.compare(m.hi) > 0 {
		return false
	}
	if m.set == nil {
		return true
	}
	_, found := m.set[k]
	return found
}

func (m *wides) within(least, most []byte) (none, all bool) {
	lo, hi := wideKey{}, wideKey{1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1}
	if least != nil {
		lo = wideKeyOf(least)
	}
	if most != nil {
		hi = wideKeyOf(most)
	}
	if m.lo.compare(m.hi) > 0 || hi.compare(m.lo) < 0 || lo.compare(m.hi) > 0 {
		return true, false
	}
	if m.set == nil {
		return false, m.lo.compare(lo) <= 0 && hi.compare(m.hi) <= 0
	}
	at, found := slices.BinarySearchFunc(m.sorted, lo, wideKey.compare)
	return at == len(m.sorted) || m.sorted[at].compare(hi) > 0, found && lo == hi
}

func (m *wides) members() [][]byte { return m.stored }
