package parquet

import (
	"encoding/binary"
	"math/bits"
)

// A Bitmap is bits in words, least significant first. It has one word more than its bits need, so
// that the 64 bits from any position can be read and written as two words.
type Bitmap []uint64

// BitmapWords is the length of a Bitmap of n bits.
func BitmapWords(n int) int { return (n+63)/64 + 1 }

// At returns the 64 bits from pos on.
func (m Bitmap) At(pos int) uint64 {
	i, s := pos>>6, uint(pos&63)
	return m[i]>>s | m[i+1]<<1<<(63-s)
}

// Or sets the bits of w from pos on.
func (m Bitmap) Or(pos int, w uint64) {
	i, s := pos>>6, uint(pos&63)
	m[i] |= w << s
	m[i+1] |= w >> 1 >> (63 - s)
}

// Set sets n bits from pos on.
func (m Bitmap) Set(pos, n int) {
	for ; n > 0; pos, n = pos+64, n-64 {
		m.Or(pos, LowBits(n))
	}
}

// LowBits is a word with its n lowest bits set, all for n >= 64.
func LowBits(n int) uint64 {
	if n >= 64 {
		return ^uint64(0)
	}
	return 1<<uint(n) - 1
}

// appendPacked sets n bits from pos on to those in b, least significant first, and returns how many
// of them are 1. The bits from pos on must be 0 before.
func (m Bitmap) appendPacked(pos int, b []byte, n int) (ones int) {
	for ; n >= 64; b, pos, n = b[8:], pos+64, n-64 {
		w := binary.LittleEndian.Uint64(b)
		ones += bits.OnesCount64(w)
		m.Or(pos, w)
	}
	if n > 0 {
		w := wordOf(b[:(n+7)/8]) & LowBits(n)
		ones += bits.OnesCount64(w)
		m.Or(pos, w)
	}
	return ones
}

// AppendEqual sets the bit from pos on of each level that is want, and returns how many are.
func (m Bitmap) AppendEqual(pos int, levels []byte, want byte) (ones int) {
	i := 0
	for ; i+8 <= len(levels); i += 8 {
		w := EqualBytes(binary.LittleEndian.Uint64(levels[i:]), want)
		ones += bits.OnesCount64(w)
		m.Or(pos+i, w)
	}
	for ; i < len(levels); i++ {
		if levels[i] == want {
			ones++
			m.Or(pos+i, 1)
		}
	}
	return ones
}

// EqualBytes returns a bit for each of the eight bytes of w, which are below 128: 1 where the byte
// is want.
func EqualBytes(w uint64, want byte) uint64 {
	zero := (highBits - (w ^ Low1*uint64(want))) & highBits // high bit stays where the byte is 0; no borrow crosses since bytes are below 128
	return zero >> 7 * 0x0102040810204080 >> 56
}

// AllAtLeast reports whether each of the eight bytes of w, which are below 128, is at least least.
func AllAtLeast(w uint64, least byte) bool {
	return ((w|highBits)-uint64(least)*Low1)&highBits == highBits
}

// Ones counts the bits set among n from pos on.
func (m Bitmap) Ones(pos, n int) int {
	c := 0
	for ; n > 0; pos, n = pos+64, n-64 {
		c += bits.OnesCount64(m.At(pos) & LowBits(n))
	}
	return c
}
