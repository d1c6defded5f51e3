package rowgroup

import (
	"encoding/binary"
	"math/bits"
)

// A bitmap is bits in words, least significant first. It has one word more than its bits need, so
// that the 64 bits from any position can be read and written as two words.
type bitmap []uint64

func bitmapWords(n int) int { return (n+63)/64 + 1 }

// at returns the 64 bits from pos on.
func (m bitmap) at(pos int) uint64 {
	i, s := pos>>6, uint(pos&63)
	return m[i]>>s | m[i+1]<<1<<(63-s)
}

// or sets the bits of w from pos on.
func (m bitmap) or(pos int, w uint64) {
	i, s := pos>>6, uint(pos&63)
	m[i] |= w << s
	m[i+1] |= w >> 1 >> (63 - s)
}

// set sets n bits from pos on.
func (m bitmap) set(pos, n int) {
	for ; n > 0; pos, n = pos+64, n-64 {
		m.or(pos, lowBits(n))
	}
}

// lowBits is a word with its n lowest bits set, all for n >= 64.
func lowBits(n int) uint64 {
	if n >= 64 {
		return ^uint64(0)
	}
	return 1<<uint(n) - 1
}

// appendPacked sets n bits from pos on to those in b, least significant first, and returns how many
// of them are 1. The bits from pos on must be 0 before.
func (m bitmap) appendPacked(pos int, b []byte, n int) (ones int) {
	for ; n >= 64; b, pos, n = b[8:], pos+64, n-64 {
		w := binary.LittleEndian.Uint64(b)
		ones += bits.OnesCount64(w)
		m.or(pos, w)
	}
	if n > 0 {
		w := uint64(0)
		for i, c := range b[:(n+7)/8] {
			w |= uint64(c) << (8 * i)
		}
		w &= lowBits(n)
		ones += bits.OnesCount64(w)
		m.or(pos, w)
	}
	return ones
}

// appendEqual sets the bit from pos on of each level that is want, and returns how many are.
func (m bitmap) appendEqual(pos int, levels []byte, want byte) (ones int) {
	i := 0
	for ; i+8 <= len(levels); i += 8 {
		w := equalBytes(binary.LittleEndian.Uint64(levels[i:]), want)
		ones += bits.OnesCount64(w)
		m.or(pos+i, w)
	}
	for ; i < len(levels); i++ {
		if levels[i] == want {
			ones++
			m.or(pos+i, 1)
		}
	}
	return ones
}

// equalBytes returns a bit for each of the eight bytes of w, which are below 128: 1 where the byte
// is want.
func equalBytes(w uint64, want byte) uint64 {
	zero := (highBits - (w ^ low1*uint64(want))) & highBits // high bit stays where the byte is 0; no borrow crosses since bytes are below 128
	return zero >> 7 * 0x0102040810204080 >> 56
}

// allAtLeast says whether each of the eight bytes of w, which are below 128, is least or more.
func allAtLeast(w uint64, least byte) bool {
	return ((w|highBits)-uint64(least)*low1)&highBits == highBits
}

// ones counts the bits set among n from pos on.
func (m bitmap) ones(pos, n int) int {
	c := 0
	for ; n > 0; pos, n = pos+64, n-64 {
		c += bits.OnesCount64(m.at(pos) & lowBits(n))
	}
	return c
}
