package words

import (
	"unsafe"

	"github.com/shardfeed/shardfeed/tokenize/internal/char"
)

// Tokens has the words of at most [Short] bytes that are one token. It is immutable once all have
// been added, and goroutines share it.
type Tokens struct{ lines []tokenLine }

// A tokenLine is a cache line of tokens. A token that it has no room for is in one of the next
// lines, up to the first whose overflow lacks the token's bit.
type tokenLine struct {
	keys     [lineTokens]Key // zero if empty
	ids      [lineTokens]int32
	overflow uint32
}

const (
	lineTokens = 3
	lineBytes  = unsafe.Sizeof(tokenLine{})
	noToken    = -1
)

// NewTokens returns Tokens with room for n of them.
func NewTokens(n int) *Tokens {
	t := &Tokens{lines: make([]tokenLine, n*3/8+1)}
	for i := range t.lines {
		t.lines[i].ids = [lineTokens]int32{noToken, noToken, noToken}
	}
	return t
}

// Done ends the calls of Add.
func (t *Tokens) Done() { HugePages(t.lines) }

// Add adds the token of a word if it is a short one without a token. Frequent words come first.
func (t *Tokens) Add(word string, id int32) {
	if len(word) == 0 || len(word) > Short {
		return
	}
	k := KeyOf(char.Of(char.Pad(nil, []byte(word))), 0, len(word))
	h := k.hash32()
	for i := t.line(h); ; i = (i + 1) % len(t.lines) {
		l := &t.lines[i]
		for j := range l.keys {
			if l.keys[j] == k {
				return
			}
			if l.keys[j] == (Key{}) {
				l.keys[j], l.ids[j] = k, id
				return
			}
		}
		l.overflow |= 1 << (h & 31)
	}
}

// line returns the line where a word of a hash is looked up first.
func (t *Tokens) line(h uint32) int { return int(uint64(h) * uint64(len(t.lines)) >> 32) }

// after looks up a word of a hash in the lines after the first.
func (t *Tokens) after(k Key, h uint32) int32 {
	for i := t.line(h); t.lines[i].overflow>>(h&31)&1 != 0; {
		i = (i + 1) % len(t.lines)
		for j, other := range t.lines[i].keys {
			if other == k {
				return t.lines[i].ids[j]
			}
		}
	}
	return noToken
}

// Memory returns the bytes of the table.
func (t *Tokens) Memory() int64 { return int64(len(t.lines)) * int64(lineBytes) }
