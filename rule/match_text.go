package rule

import (
	"bytes"
	"slices"

	"github.com/shardfeed/shardfeed/column"
)

// texts tests strings, binary values and fixed binary values, by their bytes.
type texts struct {
	op     op
	values [][]byte
	set    map[string]struct{} // of opIn
	sizes  uint64              // bit min(n, 63) is 1 when a member has n bytes
	sorted [][]byte            // of opIn
}

func newTexts(o op, values [][]byte) *texts {
	m := &texts{op: o, values: values}
	if o != opIn {
		return m
	}
	if len(values) == 1 {
		m.op = opEqual
		return m
	}
	m.set = make(map[string]struct{}, len(values))
	for _, v := range values {
		m.set[string(v)] = struct{}{}
		m.sizes |= 1 << min(len(v), 63)
	}
	m.sorted = slices.Clone(values)
	slices.SortFunc(m.sorted, bytes.Compare)
	m.sorted = slices.CompactFunc(m.sorted, bytes.Equal)
	return m
}

func (m *texts) match(dst, mask []uint64, a *column.Array) {
	switch {
	case a.Field.Kind == column.Fixed:
		width := a.Field.Width
		eachRow(dst, mask, a.Len, func(i int) bool { return m.passes(a.Data[i*width : (i+1)*width]) })
	case m.op == opEqual:
		m.matchEqual(dst, mask, a)
	default:
		eachRow(dst, mask, a.Len, func(i int) bool { return m.passes(a.Data[a.Offsets[i]:a.Offsets[i+1]]) })
	}
}

// matchEqual compares the bytes only of values of the same length.
func (m *texts) matchEqual(dst, mask []uint64, a *column.Array) {
	want := string(m.values[0])
	size := int32(len(want))
	for w := range dst {
		if mask != nil && mask[w] == 0 {
			dst[w] = 0
			continue
		}
		ends := a.Offsets[w*64+1 : min(w*64+64, a.Len)+1]
		begin, word := a.Offsets[w*64], uint64(0)
		for i, end := range ends {
			if end-begin == size && string(a.Data[begin:end]) == want {
				word |= 1 << (i & 63)
			}
			begin = end
		}
		dst[w] = word
	}
}

func (m *texts) passes(v []byte) bool {
	switch m.op {
	case opIn:
		if m.sizes>>min(len(v), 63)&1 == 0 {
			return false
		}
		_, found := m.set[string(v)]
		return found
	case opEqual:
		return bytes.Equal(v, m.values[0])
	case opBetween:
		return bytes.Compare(v, m.values[0]) >= 0 && bytes.Compare(v, m.values[1]) <= 0
	}
	return holds(m.op, bytes.Compare(v, m.values[0]))
}

// holds reports whether an ordering operator accepts how two values compare.
func holds(o op, order int) bool {
	switch o {
	case opLess:
		return order < 0
	case opAtMost:
		return order <= 0
	case opGreater:
		return order > 0
	case opAtLeast:
		return order >= 0
	}
	return order == 0
}

func (m *texts) within(least, most []byte) (none, all bool) {
	switch m.op {
	case opLess, opAtMost:
		return least != nil && !m.passes(least), most != nil && m.passes(most)
	case opGreater, opAtLeast:
		return most != nil && !m.passes(most), least != nil && m.passes(least)
	case opIn:
		at, found := slices.BinarySearchFunc(m.sorted, least, bytes.Compare) // a nil bound sorts first
		none = at == len(m.sorted) || most != nil && bytes.Compare(m.sorted[at], most) > 0
		return none, found && least != nil && most != nil && bytes.Equal(least, most)
	}
	lo, hi := m.values[0], m.values[len(m.values)-1]
	none = bytes.Compare(lo, hi) > 0 || most != nil && bytes.Compare(most, lo) < 0 || least != nil && bytes.Compare(least, hi) > 0
	all = least != nil && most != nil && bytes.Compare(least, lo) >= 0 && bytes.Compare(most, hi) <= 0
	return none, all && !none
}

func (m *texts) members() [][]byte {
	switch {
	case m.op == opEqual:
		return m.values
	case m.op == opIn && len(m.sorted) <= maxMembers:
		return m.sorted
	}
	return nil
}
