// Package words turns the words of a text into tokens, and remembers them.
//
// A [Model] is the vocabulary and the rules of a tokenizer: it is immutable, and goroutines share it.
// Each goroutine has an [Encoder] of it, with a [Cache] of words.
package words
