package rule

import (
	"encoding/binary"
	"math/bits"
)

// The primes of XXH64.
const (
	prime1 = 0x9e3779b185ebca87
	prime2 = 0xc2b2ae3d27d4eb4f
	prime3 = 0x165667b19e3779f9
	prime4 = 0x85ebca77c2b2ae63
	prime5 = 0x27d4eb2f165667c5
)

// hashKey is XXH64 of the bytes with a seed (xxHash fast digest algorithm, 0.1.1). It is written
// out here because parts are kept over releases and must never change with a library.
func hashKey(seed uint64, b []byte) uint64 {
	h, n := seed+prime5, uint64(len(b))
	if len(b) >= 32 {
		h, b = hashStripes(seed, b)
	}
	h += n
	for ; len(b) >= 8; b = b[8:] {
		h ^= hashRound(0, binary.LittleEndian.Uint64(b))
		h = bits.RotateLeft64(h, 27)*prime1 + prime4
	}
	if len(b) >= 4 {
		h ^= uint64(binary.LittleEndian.Uint32(b)) * prime1
		h = bits.RotateLeft64(h, 23)*prime2 + prime3
		b = b[4:]
	}
	for _, c := range b {
		h ^= uint64(c) * prime5
		h = bits.RotateLeft64(h, 11) * prime1
	}
	h ^= h >> 33
	h *= prime2
	h ^= h >> 29
	h *= prime3
	return h ^ h>>32
}

// hashStripes takes the whole 32 bytes from the front.
func hashStripes(seed uint64, b []byte) (h uint64, rest []byte) {
	p1, p2 := uint64(prime1), uint64(prime2) // constants may not overflow
	v := [4]uint64{seed + p1 + p2, seed + p2, seed, seed - p1}
	for ; len(b) >= 32; b = b[32:] {
		for i := range v {
			v[i] = hashRound(v[i], binary.LittleEndian.Uint64(b[8*i:]))
		}
	}
	h = bits.RotateLeft64(v[0], 1) + bits.RotateLeft64(v[1], 7) + bits.RotateLeft64(v[2], 12) + bits.RotateLeft64(v[3], 18)
	for _, x := range v {
		h = (h^hashRound(0, x))*prime1 + prime4
	}
	return h, b
}

func hashRound(acc, input uint64) uint64 {
	return bits.RotateLeft64(acc+input*prime2, 31) * prime1
}
