package resize

import "golang.org/x/sys/cpu"

// scaleRow scales a row of RGB to n pixels of 4 bytes, an even number. Output i is the sum of
// 4*quads samples from byte first[i] on; the 4 bytes after them are read too. Weights are stored
// for two outputs together, four of each at a time.
//
//go:noescape
func scaleRow(o *uint32, rgb *byte, first *int32, weight *int16, n, quads int)

// sumRows sums pairs of rows of n pixels of 4 bytes, a multiple of 8, and packs them as a Row. A
// weight has the second row's weight in its upper half.
//
//go:noescape
func sumRows(o *uint64, rows **uint32, weight *uint32, n, pairs int)

// scaleRowWide is scaleRow of the bicubic filter: after the four and four weights' upper parts,
// which count 256 times, come their lower bytes.
//
//go:noescape
func scaleRowWide(o *uint32, rgb *byte, first *int32, weight *int16, n, quads int)

// sumRowsWide is sumRows of the bicubic filter: the upper parts of a pair's weights, and the lower
// bytes.
//
//go:noescape
func sumRowsWide(o *uint64, rows **uint32, weight *uint32, n, pairs int)

func canVector() bool { return cpu.X86.HasAVX2 }
