package cache

import "hash/crc32"

// castagnoli is the polynomial of CRC-32C in the order of bits that the sums use.
const castagnoli = crc32.Castagnoli

// sumTable makes the standard library use the processor's instruction.
var sumTable = crc32.MakeTable(castagnoli)

// sumOf is the CRC-32C of b.
func sumOf(b []byte) uint32 { return crc32.Checksum(b, sumTable) }

// appendSum is the sum of what sum is of, followed by b.
func appendSum(sum uint32, b []byte) uint32 { return crc32.Update(sum, sumTable, b) }

// joinSums is the sum of two pieces one after the other, from the sums of both and the length of the second: a run grows to both sides
// without its old bytes being read again, and without blessing them if they have rotted. It is zlib's crc32_combine: the first sum times
// x^(8n) modulo the polynomial, plus the second.
func joinSums(first, second uint32, n int) uint32 {
	power := uint32(1) << 31                        // x^0
	for square := uint32(1) << 23; n > 0; n >>= 1 { // x^8, then its squares
		if n&1 != 0 {
			power = timesModulo(square, power)
		}
		square = timesModulo(square, square)
	}
	return timesModulo(power, first) ^ second
}

// timesModulo multiplies two polynomials over GF(2) modulo castagnoli, the lowest power in the highest bit.
func timesModulo(a, b uint32) (product uint32) {
	for bit := uint32(1) << 31; bit != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
		}
		carry := b & 1
		b = b>>1 ^ castagnoli*carry
	}
	return product
}
