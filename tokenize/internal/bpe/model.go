package bpe

import (
	"unicode/utf8"
	"unsafe"

	"github.com/shardfeed/shardfeed/tokenize/internal/words"
)

// A Model is a vocabulary with its merges. It is immutable. Inside, tokens have numbers: first
// those that are symbols, where a byte has its value, then those that merges make, by rank.
type Model struct {
	ids       []int32 // of the vocabulary, by number
	symbols   symbols
	pairs     pairs
	bytePairs []uint32 // values of pairs of bytes, or of ASCII if symbols are characters
	left      numbers  // tokens that are the left one of a pair
	right     numbers
	words     *words.Tokens
	rare      rareTokens
	crossings *crossings // nil if words have no parts
}

const maxTokens = 1 << 18

// numbers is a set of tokens.
type numbers [maxTokens / 64]uint64

func (s *numbers) add(n uint32) { s[n/64] |= 1 << (n % 64) }

// joins reports whether a pair of left and right can have a value.
func (m *Model) joins(left, right uint32) bool {
	return m.left[left/64%(maxTokens/64)]>>(left%64)&(m.right[right/64%(maxTokens/64)]>>(right%64))&1 != 0
}

// byteValues is the number of values of bytes that bytePairs has.
func (m *Model) byteValues() int {
	if m.symbols.bytes {
		return 256
	}
	return utf8.RuneSelf
}

// NewEncoder implements [words.Model].
func (m *Model) NewEncoder(cacheBytes int, s *words.Scratch) words.Encoder {
	return words.NewCached(&speller{model: m, scratch: s, windows: newWindows(s)}, m.words, cacheBytes, s)
}

// Memory implements [words.Model].
func (m *Model) Memory() int64 {
	n := int64(4*len(m.ids)+8*len(m.pairs.slots)+4*len(m.bytePairs)+2*maxTokens/8) + m.symbols.memory() + m.words.Memory() + m.rare.memory()
	if m.crossings != nil {
		n += int64(unsafe.Sizeof(*m.crossings))
	}
	return n
}
