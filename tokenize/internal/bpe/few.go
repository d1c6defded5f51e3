package bpe

import "math/bits"

// fewMost is the largest number of symbols that mergeFew takes.
const fewMost = 32

// few are the symbols of a short word, and the values of their pairs.
type few struct {
	ids    [fewMost]uint32
	values [fewMost]uint32 // value << 5 | place, of the pair of a symbol and the next
}

// noFew is more than any value of a pair that can be merged.
const noFew = noValue << 5

// merge merges n symbols, 1 at least, and returns the set of the places that are left. The values
// of their pairs are set.
func (f *few) merge(m *Model, n int) (left uint32) {
	left = uint32(uint64(1)<<n - 1)
	for i := n - 1; i < (n+3)&^3; i++ {
		f.values[i] = noFew
	}
	for {
		least := f.least(n)
		if least >= noFew {
			return left
		}
		i, made := least&31, least>>5
		f.ids[i] = made
		after := left &^ (2<<i - 1)
		j := uint32(bits.TrailingZeros32(after)) & 31
		left &^= 1 << j
		f.values[i], f.values[j] = noFew, noFew
		if after &^= 1 << j; after != 0 {
			if k := f.ids[bits.TrailingZeros32(after)&31]; m.joins(made, k) {
				f.values[i] = m.pairs.value(made, k)<<5 | i
			}
		}
		if before := left & (1<<i - 1); before != 0 {
			h := uint32(31-bits.LeadingZeros32(before)) & 31
			f.values[h] = noFew
			if k := f.ids[h]; m.joins(k, made) {
				f.values[h] = m.pairs.value(k, made)<<5 | h
			}
		}
	}
}

// least returns the least value of n symbols, looking at 4 at a time.
func (f *few) least(n int) uint32 {
	v := &f.values
	a, b, c, d := v[0], v[1], v[2], v[3]
	for i := 4; i < n; i += 4 {
		a, b, c, d = min(a, v[i]), min(b, v[i+1]), min(c, v[i+2]), min(d, v[i+3])
	}
	return min(a, b, c, d)
}
