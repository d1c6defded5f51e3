package rule

import (
	"cmp"
	"encoding/binary"
	"math/big"
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

// wides tests decimals of 16 and 32 bytes and INT96.
type wides struct {
	op     op
	keys   []wideKey
	set    map[wideKey]struct{} // of opIn
	stored [][]byte             // the values of = and in, where one value has one form
	noMax  bool                 // bounds prove nothing: those of INT96
}

func newWides(o op, keys []wideKey, stored [][]byte) *wides {
	m := &wides{op: o, keys: slices.Clone(keys), noMax: stored == nil}
	if o == opEqual || o == opIn && len(stored) <= maxMembers {
		m.stored = stored
	}
	if o == opIn {
		slices.SortFunc(m.keys, wideKey.compare)
		m.keys = slices.Compact(m.keys)
		m.set = make(map[wideKey]struct{}, len(m.keys))
		for _, k := range m.keys {
			m.set[k] = struct{}{}
		}
	}
	return m
}

func (m *wides) match(dst, mask []uint64, a *column.Array) {
	width := a.Field.Width
	eachRow(dst, mask, a.Len, func(i int) bool { return m.passes(wideKeyOf(a.Data[i*width : (i+1)*width])) })
}

func (m *wides) passes(k wideKey) bool {
	switch m.op {
	case opIn:
		_, found := m.set[k]
		return found
	case opBetween:
		return k.compare(m.keys[0]) >= 0 && k.compare(m.keys[1]) <= 0
	}
	return holds(m.op, k.compare(m.keys[0]))
}

func (m *wides) within(least, most []byte) (none, all bool) {
	if m.noMax {
		return false, false
	}
	lo, hi := wideKey{}, wideKey{1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1}
	if least != nil {
		lo = wideKeyOf(least)
	}
	if most != nil {
		hi = wideKeyOf(most)
	}
	first, last := m.keys[0], m.keys[len(m.keys)-1]
	switch m.op {
	case opLess, opAtMost:
		return !m.passes(lo), m.passes(hi)
	case opGreater, opAtLeast:
		return !m.passes(hi), m.passes(lo)
	case opIn:
		at, found := slices.BinarySearchFunc(m.keys, lo, wideKey.compare)
		return at == len(m.keys) || m.keys[at].compare(hi) > 0, found && lo == hi
	}
	none = first.compare(last) > 0 || hi.compare(first) < 0 || lo.compare(last) > 0
	return none, !none && lo.compare(first) >= 0 && hi.compare(last) <= 0
}

func (m *wides) members() [][]byte { return m.stored }
