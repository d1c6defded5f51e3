// Package property has the properties of code points that tokenizers use, as the Hugging Face
// library `tokenizers` has them.
//
// That library mixes versions of Unicode. Its patterns are Oniguruma's, of Unicode 16; its Rust
// code has the standard library's; BERT's control characters, punctuation and accents come from
// older crates. Package unicode agrees with neither. [Of] reports all properties of a code point
// as a [Set]; scanners use [Classes] of their own.
//
// classes.bin is written by tokenize/testdata/tables.py, which asks the library about every code
// point, and checked by a test of the Python package against the version installed there:
//
//	uvarint                      number of sets
//	uvarint each                 a set: the bits of Set
//	uvarint, uvarint, each run   number of code points, number of their set; from 0 to U+10FFFF
//
// The tables take 80 KB and are made once, by the first call of [Load].
package property
