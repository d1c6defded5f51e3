package rule

import (
	"bytes"
	"math/bits"

	"github.com/shardfeed/shardfeed/column"
)

// A textTest tests strings or binary values.
type textTest interface {
	passes(v []byte) bool

	// within and members are the methods of a matcher.
	within(least, most []byte) (none, all bool)
	members() [][]byte
}

// searches tests strings and binary values by their text in one case, or by parts of it. A value
// costs much more than a test of the mask, so searches visits only the values of set bits.
type searches struct {
	test textTest
	fold fold
}

func (m *searches) match(dst, mask []uint64, a *column.Array) {
	var folded []byte
	for w := range dst {
		left := ^uint64(0)
		if mask != nil {
			left = mask[w]
		}
		if rest := a.Len - w*64; rest < 64 {
			left &= 1<<rest - 1
		}
		word := uint64(0)
		for ; left != 0; left &= left - 1 {
			i := w*64 + bits.TrailingZeros64(left)
			v := valueAt(a, i)
			if m.fold != asWritten {
				folded = m.fold.append(folded[:0], v)
				v = folded
			}
			word |= bit(m.test.passes(v)) << (i & 63)
		}
		dst[w] = word
	}
}

// valueAt is a string or a binary value.
func valueAt(a *column.Array, i int) []byte {
	if a.Field.Kind == column.Fixed {
		return a.Data[i*a.Field.Width : (i+1)*a.Field.Width]
	}
	return a.Data[a.Offsets[i]:a.Offsets[i+1]]
}

// within decides only for equal bounds, since lower case changes the order of values.
func (m *searches) within(least, most []byte) (none, all bool) {
	if least != nil && most != nil && bytes.Equal(least, most) {
		passes := m.test.passes(m.fold.append(nil, least))
		return !passes, passes
	}
	if m.fold != asWritten {
		return false, false
	}
	return m.test.within(least, most)
}

func (m *searches) members() [][]byte {
	if m.fold != asWritten {
		return nil
	}
	return m.test.members()
}
