package unigram

import (
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed/tokenize/internal/trie"
	"github.com/shardfeed/shardfeed/tokenize/internal/words"
)

// A Config is a vocabulary with scores. The id of a token is its place.
type Config struct {
	Tokens  []string
	Scores  []float64
	Unknown int // id of the unknown token
	// ByteFallback makes unknown characters tokens of their bytes, such as <0x0A>.
	ByteFallback bool
	// Start starts nearly all words: only these are in the table of words that are one token.
	Start string
}

// A Model is a vocabulary that is ready for use.
type Model struct {
	trie         *trie.Trie
	scores       []float64
	unknown      int32
	unknownScore float64
	bytes        *[256]int32 // tokens of bytes or trie.None; nil without fallback
	longest      int         // bytes of a token
	words        *words.Tokens
}

const (
	unknownPenalty = 10 // of an unknown character, below the lowest score
	maxTokens      = 1 << idBits
	maxToken       = 1<<(32-idBits) - 1 // bytes
)

// New returns the model of a vocabulary.
func New(c Config) (*Model, error) {
	switch {
	case len(c.Tokens) == 0 || len(c.Tokens) != len(c.Scores):
		return nil, fmt.Errorf("%d tokens have %d scores", len(c.Tokens), len(c.Scores))
	case len(c.Tokens) > maxTokens:
		return nil, fmt.Errorf("the vocabulary has %d tokens, at most %d are possible", len(c.Tokens), maxTokens)
	case c.Unknown < 0 || c.Unknown >= len(c.Tokens):
		return nil, fmt.Errorf("unk_id is %d, and the vocabulary has %d tokens", c.Unknown, len(c.Tokens))
	}
	m := &Model{scores: c.Scores, unknown: int32(c.Unknown), longest: 4}
	ids, lowest := make([]int32, len(c.Tokens)), c.Scores[0]
	for i, token := range c.Tokens {
		if len(token) > maxToken {
			return nil, fmt.Errorf("token %d has %d bytes, at most %d are possible", i, len(token), maxToken)
		}
		ids[i] = int32(i)
		m.longest = max(m.longest, len(token))
		lowest = min(lowest, c.Scores[i])
	}
	m.unknownScore = lowest - unknownPenalty
	var err error
	if m.trie, err = trie.New(c.Tokens, ids); err != nil {
		return nil, err
	}
	if c.ByteFallback {
		m.bytes = new([256]int32)
		for b := range m.bytes {
			m.bytes[b] = m.token(fmt.Appendf(nil, "<0x%02X>", b))
		}
	}
	m.addWords(c)
	return m, nil
}

// addWords makes the table of words that are one token.
func (m *Model) addWords(c Config) {
	s := m.newSpeller(nil)
	var spelled, ids []int32
	for id, word := range c.Tokens {
		if len(word) > words.Short || !strings.HasPrefix(word, c.Start) {
			continue
		}
		if spelled = s.Spell(spelled[:0], []byte(word)); len(spelled) == 1 && spelled[0] == int32(id) {
			ids = append(ids, int32(id))
		}
	}
	m.words = words.NewTokens(len(ids))
	for _, id := range ids {
		m.words.Add(c.Tokens[id], id)
	}
	m.words.Done()
}

// token returns the token with a text, or trie.None.
func (m *Model) token(text []byte) int32 {
	n, value, ok := m.trie.Root(), int32(trie.None), true
	for _, b := range text {
		if n, value, ok = m.trie.Step(n, b); !ok {
			return trie.None
		}
	}
	return value
}

// NewEncoder implements [words.Model].
func (m *Model) NewEncoder(cacheBytes int, s *words.Scratch) words.Encoder {
	return words.NewCached(m.newSpeller(s), m.words, cacheBytes, s)
}

// Memory returns the bytes of the model's tables.
func (m *Model) Memory() int64 {
	return m.trie.Memory() + m.words.Memory() + 8*int64(len(m.scores)) + 4*256
}
