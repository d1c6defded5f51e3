package bpe

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
