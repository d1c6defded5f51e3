package bpe

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/tokenize/internal/words"
)

// New returns the model of a vocabulary.
func New(c Config) (*Model, error) {
	b := builder{Config: c, model: &Model{}, numbers: make(map[int32]uint32, len(c.Vocab))}
	if err := b.ranked(); err != nil {
		return nil, err
	}
	if err := b.symbols(); err != nil {
		return nil, err
	}
	if err := b.last(); err != nil {
		return nil, err
	}
	b.tables()
	return b.model, nil
}

// A builder makes a Model.
type builder struct {
	Config
	model   *Model
	pairs   pairs            // of ids, with their ranks
	made    []uint32         // ids, by rank
	numbers map[int32]uint32 // by id
	tokens  []madeToken      // by rank
}

// A madeToken is a token that the merges of its text make.
type madeToken struct {
	text string
	id   int32
	last lastMerge
}

// ranked makes the table of all merges. Of equal pairs the last rank counts.
func (b *builder) ranked() error {
	if len(b.Merges) >= noValue {
		return fmt.Errorf("there are %d merges, at most %d are possible", len(b.Merges), noValue-1)
	}
	standing := map[int32]bool{b.Unknown: true} // tokens for characters that the vocabulary lacks
	if b.ByteTokens != nil {
		for _, id := range b.ByteTokens {
			standing[id] = true
		}
	}
	b.pairs = newPairs(len(b.Merges))
	b.made = make([]uint32, len(b.Merges))
	for rank, m := range b.Merges {
		var ids [3]int32
		for i, text := range [3]string{m[0], m[1], m[0] + m[1]} {
			id, ok := b.Vocab[text]
			switch {
			case !ok:
				return fmt.Errorf("merge %d makes %q of %q and %q, and the vocabulary lacks %q", rank, m[0]+m[1], m[0], m[1], text)
			case id < 0 || id > maxID:
				return fmt.Errorf("%q has the id %d, the largest possible is %d", text, id, maxID)
			case text == "":
				return fmt.Errorf("merge %d has an empty part", rank)
			case standing[id] && utf8.RuneCountInString(text) != 1:
				return fmt.Errorf("merge %d has %q, which replaces unknown characters", rank, text)
			}
			ids[i] = id
		}
		b.pairs.set(uint32(ids[0]), uint32(ids[1]), uint32(rank))
		b.made[rank] = uint32(ids[2])
	}
	return nil
}

// number returns the number of a token, a new one at first.
func (b *builder) number(id int32) uint32 {
	if id < 0 {
		return noSymbol
	}
	n, ok := b.numbers[id]
	if !ok {
		n = uint32(len(b.model.ids))
		b.model.ids = append(b.model.ids, id)
		b.numbers[id] = n
	}
	return n
}

// symbols numbers the tokens that words start with.
func (b *builder) symbols() error {
	s := &b.model.symbols
	s.bytes, s.fuse, s.unknown = b.Bytes, b.FuseUnknown, noSymbol
	if b.Bytes {
		for c := range 256 {
			id, ok := b.Vocab[string([]byte{byte(c)})]
			if !ok && validByte(byte(c)) {
				return fmt.Errorf("the vocabulary lacks the byte %#02x", c)
			} else if !ok {
				id = -1
			}
			b.model.ids = append(b.model.ids, id)
			b.numbers[id] = uint32(c)
		}
		return nil
	}
	for i := range s.ascii {
		s.ascii[i] = noSymbol
	}
	s.chars = newCharacters()
	for text, id := range b.Vocab {
		if r, size := utf8.DecodeRuneInString(text); size == len(text) && size == 1 {
			s.ascii[r] = b.number(id)
		} else if size == len(text) {
			s.chars.set(r, b.number(id))
		}
	}
	s.unknown = b.number(b.Unknown)
	if b.ByteTokens != nil {
		s.byByte = new([256]uint32)
		for c, id := range b.ByteTokens {
			s.byByte[c] = b.number(id)
		}
	}
	return nil
}

// last merges the text of each token, and keeps the last merge.
func (b *builder) last() error {
	makes := make(map[uint32]bool, len(b.made))
	for _, id := range b.made {
		makes[id] = true
	}
	var h merger
	var ids []uint32
	for text, id := range b.Vocab {
		if ids = b.idsOf(ids[:0], text); len(ids) == 1 {
			continue // a symbol
		}
		if makes[uint32(id)] && len(ids) > 1 {
			if h.merge(&b.pairs, b.made, ids); int(h.next[0]) == len(ids) && h.ids[0] == uint32(id) {
				b.tokens = append(b.tokens, madeToken{text: text, id: id, last: h.last})
				continue
			}
		}
		if b.Words && text != "" {
			b.model.rare.add(text, id)
		}
	}
	slices.SortFunc(b.tokens, func(x, y madeToken) int { return cmp.Compare(x.last.value, y.last.value) })
	if n := len(b.model.ids) + len(b.tokens); n > maxTokens {
		return fmt.Errorf("the merges make %d tokens, at most %d are possible", n, maxTokens)
	}
	return nil
}

// idsOf appends the ids of a text's symbols, and or nothing if a character has no symbol.
func (b *builder) idsOf(dst []uint32, text string) []uint32 {
	s := &b.model.symbols
	if s.bytes {
		for i := range len(text) {
			dst = append(dst, uint32(b.model.ids[text[i]])&(1<<idBits-1))
		}
		return dst
	}
	for i, r := range text {
		n := s.char(r)
		if n == noSymbol || r == utf8.RuneError && text[i] != "\ufffd"[0] {
			return dst[:0]
		}
		dst = append(dst, uint32(b.model.ids[n]))
	}
	return dst
}

// words returns the words that are a token, symbols and tokens of the lowest ranks first.
func (b *builder) words() *words.Tokens {
	var list []madeToken
	for text, id := range b.Vocab {
		if len(b.idsOf(nil, text)) == 1 {
			list = append(list, madeToken{text: text, id: id})
		}
	}
	slices.SortFunc(list, func(x, y madeToken) int { return cmp.Compare(x.id, y.id) })
	list = append(list, b.tokens...)
	for text, id := range b.model.rare.ids {
		list = append(list, madeToken{text: text, id: id})
	}
	list = slices.DeleteFunc(list, func(t madeToken) bool { return len(t.text) > words.Short })
	t := words.NewTokens(len(list))
	for _, made := range list {
		t.Add(made.text, made.id)
	}
	t.Done()
	return t
}

// tables makes the tables of the model.
func (b *builder) tables() {
	m := b.model
	for _, t := range b.tokens {
		b.number(t.id)
	}
	if m.symbols.complete() {
		m.crossings = &crossings{}
	}
	m.pairs = newPairs(len(b.tokens))
	m.words = b.words()
	for _, t := range b.tokens {
		left, right := b.numbers[int32(t.last.left)], b.numbers[int32(t.last.right)]
		m.pairs.set(left, right, b.numbers[t.id])
		m.left.add(left)
		m.right.add(right)
		if m.crossings != nil {
			m.crossings.add(t.text)
		}
	}
	symbol := func(c int) uint32 { return uint32(c) }
	if !b.Bytes {
		symbol = func(c int) uint32 { return m.symbols.ascii[c] }
	}
	words.HugePages(m.pairs.slots)
	n := m.byteValues()
	m.bytePairs = make([]uint32, n*n)
	for i := range m.bytePairs {
		m.bytePairs[i] = m.pairs.value(symbol(i/n), symbol(i%n))
	}
}
