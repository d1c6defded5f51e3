// Package transform changes the columns of a unit that was just decoded, before its rows become
// samples.
//
//	Columns    the steps that change them, bound to a schema, and the schema that results
//	Words      a step: the numbers of texts in a vocabulary
//	Tokenizer  a step: lists of the tokens of texts, of one column or joined of several, and labels
//	Encoders   the encoders of a tokenizer, which goroutines borrow to make or to count tokens
//
// Tokens that a tier keeps (KeepIn) are not made again: a block that has them stays as it is.
//
// Columns are immutable, and goroutines share them. Numbers take the memory of the blocks' arenas,
// and tokens ask the decoder's meter before. Encoders keep at most one encoder for each processor.
// The package starts no goroutine.
package transform
