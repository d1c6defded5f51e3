// Package normal has the normalizers of tokenizers, which rewrite a text before it is cut.
//
// A [Normalizer] appends the normal form of a text, or reports that the text has it already.
// Normalizers are immutable, and goroutines share them. Texts must be valid UTF-8, and normal forms
// are.
//
// Every normalizer takes time in proportion to its text, for texts made to be slow too. It keeps
// the text that it appends, and for one run of marks that belong to one character, or of Hangul, 8
// bytes a code point.
//
// forms.bin is written by tokenize/testdata/tables.py, which asks the library `tokenizers` about
// every code point: its normal forms are older than Unicode 11. It holds five maps of code points
// in ascending order. Numbers are uvarints:
//
//	combining classes             runs of one class: points after the last run, length, class
//	canonical decompositions      text each
//	compatible decompositions     text each, unless the canonical one is the same
//	compositions                  text each: the two characters that make this one
//	lower case                    text each
//
// A map has its size, then items. A text item has the number of points after the last item, the
// number of characters, and for each the zigzag difference from the one before, the first from the
// code point. Classes are ranks: their order is all that normal forms need.
package normal
