package crc

import "hash/crc32"

// foldBytes is the least that fold takes, and what it takes is a multiple of it.
const foldBytes = 256

// Of is the CRC-32 (IEEE 802.3) of b. CRC-32C does not find more errors in 64 KiB, and on bytes
// that come from memory, as mapped ones do, the standard library's is three times slower because it
// reads in three places at once.
func Of(b []byte) uint32 { return Append(0, b) }

// Append extends a sum by b. Where the processor can, most of b is first folded to 64 bytes that
// leave the same remainder, in four streams that ask for bytes ahead; the standard library's one
// stream takes 1.2 to 2 times as long.
func Append(sum uint32, b []byte) uint32 {
	if n := len(b) &^ (foldBytes - 1); n > 0 && canFold() {
		var rest [64]byte
		fold(&rest, ^sum, &b[0], n)
		sum, b = crc32.Update(^uint32(0), crc32.IEEETable, rest[:]), b[n:] // the register starts as zero: the sum so far is in rest
	}
	return crc32.Update(sum, crc32.IEEETable, b)
}

// Join returns the sum of two concatenated pieces, from the sums of both and the length of the
// second. A run can so grow to both sides without reading its old bytes again, and without
// accepting them if they have rotted. It is zlib's crc32_combine: the first sum times x^(8n) modulo
// the polynomial, plus the second.
func Join(first, second uint32, n int) uint32 {
	power := uint32(1) << 31                        // x^0
	for square := uint32(1) << 23; n > 0; n >>= 1 { // x^8, then its squares
		if n&1 != 0 {
			power = timesModulo(square, power)
		}
		square = timesModulo(square, square)
	}
	return timesModulo(power, first) ^ second
}

// timesModulo multiplies two polynomials over GF(2) modulo the polynomial, the lowest power in the
// highest bit.
func timesModulo(a, b uint32) (product uint32) {
	for bit := uint32(1) << 31; bit != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
		}
		carry := b & 1
		b = b>>1 ^ crc32.IEEE*carry
	}
	return product
}
