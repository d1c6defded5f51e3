// Package words turns the words of a text into tokens, and remembers them.
//
// A [Model] is the vocabulary and the rules of a tokenizer: it is immutable, and goroutines share it.
// Each goroutine has an [Encoder] of it. [Cached] is one that asks a [Speller] for the tokens of each
// new word. [Scratch] counts the buffers that a long text takes.
//
// Most words of a text are one token. [Tokens] holds the tokens of a model in lines as long as a
// cache line, and all encoders share it. Cached asks it first, then its own cache, then the Speller.
//
// The cache has two tables of fixed size, for words of at most 15 and of at most 31 bytes. Two
// entries share a cache line, and a word is in one of the two: a new word replaces the older one. A
// word of more than 15 bytes is divided into parts, where the Speller allows it. The keys of 256
// words and parts are made first, and the lines of each table are prefetched before it is read, so
// look-ups do not wait for memory. A part that would be another token as a word has its own key.
package words
