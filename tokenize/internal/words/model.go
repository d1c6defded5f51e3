package words

import "github.com/shardfeed/shardfeed/tokenize/internal/char"

// A Model makes encoders.
type Model interface {
	// NewEncoder returns an Encoder whose caches take at most cacheBytes, and whose buffers s
	// counts.
	NewEncoder(cacheBytes int, s *Scratch) Encoder
	// Memory returns the bytes of the model's tables.
	Memory() int64
}

// An Encoder turns words into tokens. One goroutine may use it.
type Encoder interface {
	// Append appends the tokens of words that follow each other: the first starts at p, and ends
	// has the end of each.
	Append(dst []int32, v char.View, p int, ends []uint32) []int32
	// Memory returns the bytes of the encoder's caches and buffers.
	Memory() int64
	// Trim drops buffers of more than Kept bytes.
	Trim()
}

// A Speller turns a word into tokens, without a cache. Words have [char.Slack] readable bytes after
// their end, and at most one token for each byte.
type Speller interface {
	// Spell appends the tokens of a word, or of a part of one.
	Spell(dst []int32, word []byte) []int32
	// Token returns the token of a word that is not spelled like the same text in a longer word.
	// If the word is short, Tokens has it.
	Token(word []byte) (id int32, ok bool)
	// Part returns the end of a part of a long word from p on: its tokens depend on nothing else.
	Part(v char.View, p, end int) int
	// Memory returns the bytes of the speller's buffers.
	Memory() int64
	// Trim drops buffers of more than Kept bytes.
	Trim()
}

// Undivided has the methods of a Speller whose words have no parts. Its zero value is embedded.
type Undivided struct{}

// Token implements [Speller].
func (Undivided) Token([]byte) (id int32, ok bool) { return 0, false }

// Part implements [Speller].
func (Undivided) Part(_ char.View, _, end int) int { return end }
