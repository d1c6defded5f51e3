package words

import "github.com/shardfeed/shardfeed/tokenize/internal/char"

// A Model makes encoders.
type Model interface {
	// NewEncoder returns an Encoder whose caches take at most cacheBytes.
	NewEncoder(cacheBytes int) Encoder
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
}
