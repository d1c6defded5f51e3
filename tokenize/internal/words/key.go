package words

import (
	"math/bits"

	"github.com/shardfeed/shardfeed/tokenize/internal/char"
)

// Short is the number of bytes of the longest word that has a Key.
const Short = 15

// A Key is a word of at most Short bytes, with its length in the last byte. No word has the zero Key.
type Key [2]uint64

var masks = func() (all [Short + 1]Key) {
	for n := range all {
		for i := range n {
			all[n][i/8] |= 0xff << (i % 8 * 8)
		}
	}
	return all
}()

// KeyOf returns the key of the word of n bytes at p.
func KeyOf(v char.View, p, n int) Key {
	m := &masks[n&Short]
	return Key{v.Load64(p) & m[0], v.Load64(p+8)&m[1] | uint64(n)<<56}
}

// hash32 returns a hash whose high bits are the best.
func (k Key) hash32() uint32 { return uint32(k.hash() >> 32) }

func (k Key) hash() uint64 {
	hi, lo := bits.Mul64(k[0]^0x9e3779b97f4a7c15, k[1]^0xe7037ed1a0b428db)
	return hi ^ lo
}

// A longKey is a word of 16 to longMost bytes, with its length in the last byte.
type longKey [4]uint64

const longMost = 31

// is reports whether two keys are the same. It is faster than ==, which calls the runtime.
func (k *longKey) is(l *longKey) bool {
	return (k[0]^l[0])|(k[1]^l[1])|(k[2]^l[2])|(k[3]^l[3]) == 0
}

// longKeyOf returns the key of a word, or of a part if part is partBit.
func longKeyOf(v char.View, p, n int, part uint32) (k longKey) {
	k[0], k[1] = v.Load64(p), v.Load64(p+8)
	tail := KeyOf(v, p+16, n-16)
	k[2], k[3] = tail[0], tail[1]|16<<56|uint64(part)<<32
	return k
}

func (k *longKey) hash() uint64 {
	return Key{k[0] ^ k[2]*0xd6e8feb86659fd93, k[1] ^ k[3]*0xa0761d6478bd642f}.hash()
}
