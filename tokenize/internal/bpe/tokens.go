package bpe

import (
	"math/bits"

	"github.com/shardfeed/shardfeed/tokenize/internal/char"
	"github.com/shardfeed/shardfeed/tokenize/internal/words"
)

const (
	numberBits = 18 // of a token's number
	tagBits    = 32 - numberBits
	emptySlot  = ^uint32(0)
)

// shortTokens finds the token of a word of at most [words.Short] bytes that its merges make. It spares
// the merges of most words that a cache lacks.
type shortTokens struct {
	keys  []words.Key // by number; the zero Key for longer tokens
	slots []uint32    // a number and low bits of the hash, so that most other keys are not read
	shift uint8
}

func newShortTokens(n int) shortTokens {
	k := bits.Len(uint(n)*4/3 | 63)
	t := shortTokens{keys: make([]words.Key, 0, n), slots: make([]uint32, 1<<k), shift: uint8(64 - k)}
	for i := range t.slots {
		t.slots[i] = emptySlot
	}
	return t
}

// add adds the token of the next number.
func (t *shortTokens) add(text string) {
	n := uint32(len(t.keys))
	if len(text) > words.Short {
		t.keys = append(t.keys, words.Key{})
		return
	}
	k := words.KeyOf(char.Of(char.Pad(nil, []byte(text))), 0, len(text))
	t.keys = append(t.keys, k)
	h := k.Hash()
	i := h >> t.shift
	for t.slots[i] != emptySlot {
		i = (i + 1) & uint64(len(t.slots)-1)
	}
	t.slots[i] = uint32(h)<<numberBits | n
}

// find returns the number of a token.
func (t *shortTokens) find(k words.Key) (n uint32, ok bool) {
	h := k.Hash()
	tag := uint32(h) << numberBits
	for i := h >> (t.shift & 63); ; i++ {
		s := t.slots[i&uint64(len(t.slots)-1)]
		if s == emptySlot {
			return 0, false
		}
		if n := s & (1<<numberBits - 1); s&^(1<<numberBits-1) == tag && t.keys[n] == k {
			return n, true
		}
	}
}

func (t *shortTokens) memory() int64 { return int64(len(t.keys))*16 + int64(len(t.slots))*4 }

// rareTokens are tokens that the merges of their own text do not make. A word of that text is this
// token, if the tokenizer ignores merges for such words.
type rareTokens struct {
	ids  map[string]int32
	most int            // bytes of the longest
	some [1 << 8]uint64 // hashes of the texts
}

func (t *rareTokens) add(text string, id int32) {
	if t.ids == nil {
		t.ids = map[string]int32{}
	}
	t.ids[text] = id
	t.most = max(t.most, len(text))
	h := rareHash([]byte(text))
	t.some[h>>6] |= 1 << (h & 63)
}

func (t *rareTokens) find(word []byte) (id int32, ok bool) {
	if len(word) > t.most {
		return 0, false
	}
	if h := rareHash(word); t.some[h>>6]>>(h&63)&1 == 0 {
		return 0, false
	}
	id, ok = t.ids[string(word)]
	return id, ok
}

// rareHash returns a hash of the length, and of the first, middle and last byte.
func rareHash(word []byte) uint32 {
	n := len(word)
	x := uint32(n) | uint32(word[0])<<8 | uint32(word[n-1])<<16 | uint32(word[n/2])<<24
	return x * 0x9e3779b1 >> (32 - 14)
}

func (t *rareTokens) memory() (n int64) {
	for text := range t.ids {
		n += int64(len(text)) + 48
	}
	return n + int64(len(t.some))*8
}
