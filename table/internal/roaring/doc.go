// Package roaring reads 64-bit Roaring bitmaps, which list the deleted rows of a file in Delta and
// Iceberg tables.
//
// A bitmap is little-endian, in the portable form of the Roaring format specification:
//
//	bytes  field
//	4      magic, 1681511377
//	8      number of 32-bit bitmaps
//	       of each, in ascending order of keys:
//	4      key: the upper 32 bits of its numbers
//	...    a 32-bit bitmap: cookie, containers' keys and sizes, offsets, containers
//
// Both formats frame it alike, big-endian: four bytes of length, the bitmap, and its CRC-32;
// [Frame] takes it out. [Each] returns the numbers as ranges. It checks all of the bitmap's
// structure and allocates nothing, so that damaged bytes cost no more time than their length.
package roaring
