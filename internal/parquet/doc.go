// Package parquet reads the parts of the parquet format: footers, page headers, offset indexes,
// levels, codecs and encodings. It knows bytes, not data sets: package rowgroup decides what is
// read, and turns what this package decodes into columns.
//
// The parts, from the file's end inwards:
//
//	ParseFooter       a footer -> Footer: schema, row groups and column chunks, checked
//	ReadPageIndex     offset indexes -> pages of each chunk
//	ParsePageHeader   the header of a page
//	Codecs            a page's body, decompressed
//	LevelRun, Runs    levels and codes, which are runs of equal or bit-packed values
//	Decode functions  values of an encoding, written to the memory of the caller
//
// Whatever the bytes hold, a function returns a value or an error. It allocates no more than the
// length of its input allows, and never writes beyond what it is given.
package parquet
