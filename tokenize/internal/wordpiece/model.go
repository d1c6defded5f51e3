package wordpiece

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/tokenize/internal/property"
	"github.com/shardfeed/shardfeed/tokenize/internal/trie"
	"github.com/shardfeed/shardfeed/tokenize/internal/words"
)

// A Config is a vocabulary with its rules.
type Config struct {
	Vocab map[string]int32
	// Unknown is the text of the unknown token, which Vocab must have.
	Unknown string
	// Prefix starts the tokens of all parts of a word but the first.
	Prefix string
	// MaxChars limits a word's characters: a longer one is unknown.
	MaxChars int
	// SkipSpace drops white space that words start with, as the pre-tokenizer does: words of white
	// space have no tokens.
	SkipSpace bool
}

// A Model is a vocabulary that is ready for use.
type Model struct {
	trie      *trie.Trie
	rest      trie.Node // of the prefix
	restKnown bool
	unknown   int32
	maxChars  int
	skipSpace bool
	words     *words.Tokens
}

// New returns the model of a vocabulary.
func New(c Config) (*Model, error) {
	unknown, ok := c.Vocab[c.Unknown]
	if !ok {
		return nil, fmt.Errorf("unk_token %q is not in the vocabulary", c.Unknown)
	}
	m := &Model{unknown: unknown, maxChars: c.MaxChars, skipSpace: c.SkipSpace}
	keys, ids := make([]string, 0, len(c.Vocab)), make([]int32, 0, len(c.Vocab))
	for key, id := range c.Vocab {
		keys, ids = append(keys, key), append(ids, id)
	}
	var err error
	if m.trie, err = trie.New(keys, ids); err != nil {
		return nil, err
	}
	m.rest, m.restKnown = m.trie.Walk(c.Prefix)
	m.addWords(c.Vocab, keys)
	return m, nil
}

// addWords makes the table of words that are one token. They are among keys, also after a space.
func (m *Model) addWords(ids map[string]int32, keys []string) {
	slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(ids[a], ids[b]) })
	list := slices.Clone(keys)
	if m.skipSpace {
		list = list[:0]
		for _, key := range keys {
			list = append(list, " "+key, key)
		}
	}
	m.words = words.NewTokens(len(list))
	var spelled []int32
	for _, word := range list {
		if spelled = m.spell(spelled[:0], []byte(word)); len(spelled) == 1 {
			m.words.Add(word, spelled[0])
		}
	}
	m.words.Done()
}

// Memory returns the bytes of the model's tables.
func (m *Model) Memory() int64 { return m.trie.Memory() + m.words.Memory() }

// NewEncoder implements [words.Model].
func (m *Model) NewEncoder(cacheBytes int, s *words.Scratch) words.Encoder {
	return words.NewCached(speller{Model: m}, m.words, cacheBytes, s)
}

// A speller divides words into tokens.
type speller struct {
	words.Undivided
	*Model
}

// Memory implements [words.Speller].
func (speller) Memory() int64 { return 0 }

// Trim implements [words.Speller].
func (speller) Trim() {}

// Spell implements [words.Speller].
func (s speller) Spell(dst []int32, word []byte) []int32 { return s.spell(dst, word) }

// spell appends the tokens of a word.
func (m *Model) spell(dst []int32, word []byte) []int32 {
	for m.skipSpace && len(word) > 0 {
		r, size := utf8.DecodeRune(word)
		if property.Of(r)&property.White == 0 {
			break
		}
		word = word[size:]
	}
	if len(word) > m.maxChars && characters(word) > m.maxChars {
		return append(dst, m.unknown)
	}
	at, n, known := len(dst), m.trie.Root(), true
	for p := 0; p < len(word); {
		id, size := m.longest(n, word[p:])
		if !known || size == 0 {
			return append(dst[:at], m.unknown)
		}
		dst = append(dst, id)
		p += size
		n, known = m.rest, m.restKnown
	}
	return dst
}

// characters returns the number of characters of a word. utf8.RuneCount copies long ones.
func characters(word []byte) (n int) {
	for _, b := range word {
		if utf8.RuneStart(b) {
			n++
		}
	}
	return n
}

// longest returns the longest token after n that text starts with, and its size, or a size of 0.
func (m *Model) longest(n trie.Node, text []byte) (id int32, size int) {
	for i, b := range text {
		next, value, ok := m.trie.Step(n, b)
		if !ok {
			break
		}
		if n = next; value != trie.None {
			id, size = value, i+1
		}
	}
	return id, size
}
