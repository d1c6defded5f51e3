// Package added finds added tokens in text, as AddedVocabulary of the library tokenizers does: the
// leftmost first, of these the longest, and then on from its end. Tokens may ask for more: to be
// a whole word, or to take the white space before and after them.
//
// A [Set] is immutable. It keeps the tokens sorted, so a million of them take no more than their
// texts and 48 bytes each, and a search narrows the range of tokens byte by byte.
package added
