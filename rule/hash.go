package rule

import (
	"encoding/binary"
	"math/bits"
)

// The primes of XXH64.
const (
	xxPrime1 = 0x9E3779B185EBCA87
	xxPrime2 = 0xC2B2AE3D27D4EB4F
	xxPrime3 = 0x165667B19E3779F9
	xxPrime4 = 0x85EBCA77C2B2AE63
	xxPrime5 = 0x27D4EB2F165667C5

	xxPrimes12    = (xxPrime1 + xxPrime2) & (1<<64 - 1)
	xxMinusPrime1 = 1<<64 - xxPrime1
)

// Hash is the hash of a value's bytes, as the expression hash() takes it with a salt.
func Hash(salt uint64, b []byte) uint64 { return hash64(salt, b) }

// HashWord is Hash of the 8 bytes of u, little-endian, as integers are hashed.
func HashWord(salt, u uint64) uint64 { return hashWord(salt, u) }

// HashedFloat is the word by which a float is hashed.
func HashedFloat(v float64) uint64 { return floatWord(v) }

// hash64 is XXH64 of b (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md).
func hash64(seed uint64, b []byte) uint64 {
	n := uint64(len(b))
	var h uint64
	if n < 32 {
		h = seed + xxPrime5
	} else {
		h, b = xxStripes(seed, b)
	}
	h += n
	for ; len(b) >= 8; b = b[8:] {
		h = bits.RotateLeft64(h^xxRound(0, binary.LittleEndian.Uint64(b)), 27)*xxPrime1 + xxPrime4
	}
	if len(b) >= 4 {
		h = bits.RotateLeft64(h^uint64(binary.LittleEndian.Uint32(b))*xxPrime1, 23)*xxPrime2 + xxPrime3
		b = b[4:]
	}
	for _, c := range b {
		h = bits.RotateLeft64(h^uint64(c)*xxPrime5, 11) * xxPrime1
	}
	return xxMix(h)
}

// hashWord is hash64 of the 8 bytes of u, little-endian.
func hashWord(seed, u uint64) uint64 {
	h := seed + xxPrime5 + 8
	return xxMix(bits.RotateLeft64(h^xxRound(0, u), 27)*xxPrime1 + xxPrime4)
}

func xxMix(h uint64) uint64 {
	h = (h ^ h>>33) * xxPrime2
	h = (h ^ h>>29) * xxPrime3
	return h ^ h>>32
}

// xxStripes takes all whole stripes of 32 bytes and returns the rest.
func xxStripes(seed uint64, b []byte) (h uint64, rest []byte) {
	lanes := [4]uint64{seed, seed, seed, seed}
	for i, add := range [4]uint64{xxPrimes12, xxPrime2, 0, xxMinusPrime1} {
		lanes[i] += add
	}
	for ; len(b) >= 32; b = b[32:] {
		for i := range lanes {
			lanes[i] = xxRound(lanes[i], binary.LittleEndian.Uint64(b[8*i:]))
		}
	}
	for i, turn := range [4]int{1, 7, 12, 18} {
		h += bits.RotateLeft64(lanes[i], turn)
	}
	for _, lane := range lanes {
		h = (h^xxRound(0, lane))*xxPrime1 + xxPrime4
	}
	return h, b
}

func xxRound(lane, input uint64) uint64 {
	return bits.RotateLeft64(lane+input*xxPrime2, 31) * xxPrime1
}
