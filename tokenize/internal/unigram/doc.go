// Package unigram is SentencePiece's Unigram model, as the Hugging Face library has it: each token
// has a score, and a word is divided into the tokens whose scores have the largest sum.
//
// A [Model] is immutable. Scores are added as float64, from the start of the word, and of two equal
// sums the one whose last token starts first wins. [ParseScore] reads a score with the rounding
// errors of serde_json, since a score that is one bit off may choose other tokens.
//
// A character without a token is unknown. Consecutive unknown characters are one token: the token of
// their text, if the vocabulary has it; else the tokens of their bytes, with byte_fallback; else the
// unknown token.
//
// Time is in proportion to the word's length times the longest token. Memory is 4 bytes for each byte
// of the longest part of a word in which every character may be in the middle of a token.
package unigram
