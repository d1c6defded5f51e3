// Package wordpiece is the model of BERT: the longest token that a word starts with, then the
// longest one of the rest, which has a prefix such as ##.
//
// A word of which a part has no token, or of too many characters, is the unknown token. A [Model] is
// immutable. Time is in proportion to the word's length times the longest token.
package wordpiece
