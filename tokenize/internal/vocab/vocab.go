package vocab

import (
	"fmt"
	"hash/maphash"
	"math/bits"
)

// A Vocabulary finds tokens by text and by id. It is immutable.
type Vocabulary struct {
	texts string
	begin []uint32 // of a token's text in texts, by place
	ids   []int32  // by place
	byID  []int32  // place, by id; -1 if no token has it
	slots []uint32 // place + 1, by hash of the text
	seed  maphash.Seed
	size  int
}

// A Token is a text with its id.
type Token struct {
	Text string
	ID   int32
}

// sparse limits the ids of a vocabulary: an id is at most this multiple of the number of tokens, and
// always may be 65,535.
const sparse = 16

// New returns the vocabulary of tokens, of which each has a text and an id of its own.
func New(tokens []Token) (*Vocabulary, error) {
	bytes, most := 0, int32(-1)
	for _, t := range tokens {
		bytes += len(t.Text)
		most = max(most, t.ID)
		if t.ID < 0 || int64(t.ID) > max(sparse*int64(len(tokens)), 1<<16-1) {
			return nil, fmt.Errorf("%q has the id %d in a vocabulary of %d tokens", t.Text, t.ID, len(tokens))
		}
	}
	v := &Vocabulary{
		begin: make([]uint32, 1, len(tokens)+1),
		ids:   make([]int32, 0, len(tokens)),
		byID:  make([]int32, most+1),
		slots: make([]uint32, 1<<bits.Len(uint(len(tokens)*3/2))),
		seed:  maphash.MakeSeed(),
		size:  len(tokens),
	}
	for i := range v.byID {
		v.byID[i] = -1
	}
	texts := make([]byte, 0, bytes)
	for place, t := range tokens {
		texts = append(texts, t.Text...)
		v.begin = append(v.begin, uint32(len(texts)))
		v.ids = append(v.ids, t.ID)
		v.byID[t.ID] = int32(place)
	}
	v.texts = string(texts)
	for place := range tokens {
		i := v.slot(v.text(place))
		for ; v.slots[i] != 0; i = (i + 1) & (len(v.slots) - 1) {
		}
		v.slots[i] = uint32(place + 1)
	}
	return v, nil
}

func (v *Vocabulary) slot(text string) int {
	return int(maphash.String(v.seed, text) & uint64(len(v.slots)-1))
}

func (v *Vocabulary) text(place int) string { return v.texts[v.begin[place]:v.begin[place+1]] }

// Len returns the number of tokens.
func (v *Vocabulary) Len() int { return v.size }

// Bound returns the largest id + 1.
func (v *Vocabulary) Bound() int { return len(v.byID) }

// ID returns the id of a token's text.
func (v *Vocabulary) ID(text string) (id int32, ok bool) {
	for i := v.slot(text); v.slots[i] != 0; i = (i + 1) & (len(v.slots) - 1) {
		if place := int(v.slots[i] - 1); v.text(place) == text {
			return v.ids[place], true
		}
	}
	return 0, false
}

// Text returns the text of the token with an id.
func (v *Vocabulary) Text(id int32) (text string, ok bool) {
	if id < 0 || int(id) >= len(v.byID) || v.byID[id] < 0 {
		return "", false
	}
	return v.text(int(v.byID[id])), true
}

// Memory returns the bytes that the vocabulary takes.
func (v *Vocabulary) Memory() int64 {
	return int64(len(v.texts) + 4*(len(v.begin)+len(v.ids)+len(v.byID)+len(v.slots)))
}
