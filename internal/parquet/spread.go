package parquet

import (
	"math/bits"

	"github.com/shardfeed/shardfeed/internal/mem"
)

// Spread moves values of width bytes, which are adjacent in src, to their slots in dst: slot i
// takes the next value if bit from+i of valid is 1, and is zeroed if it is 0. src must not start
// before dst if the two overlap, and must have as many values as bits are set. When values end
// where the slots end, src may share dst's memory.
func Spread(dst, src []byte, width int, valid Bitmap, from, n int) {
	switch width {
	case 1:
		spreadWords(dst, src, valid, from, n)
	case 2:
		spreadWords(mem.As[uint16](dst), mem.As[uint16](src), valid, from, n)
	case 4:
		spreadWords(mem.As[uint32](dst), mem.As[uint32](src), valid, from, n)
	case 8:
		spreadWords(mem.As[uint64](dst), mem.As[uint64](src), valid, from, n)
	default:
		spreadWide(dst, src, width, valid, from, n)
	}
}

func spreadWords[T uint8 | uint16 | uint32 | uint64](dst, src []T, valid Bitmap, from, n int) {
	j := 0
	for i := 0; i < n; i += 64 {
		k := min(64, n-i)
		w := valid.At(from+i) & LowBits(k)
		d, s := dst[i:i+k], src[j:]
		switch ones := bits.OnesCount64(w); {
		case ones == k:
			copy(d, s[:k])
			j += k
		case ones == 0:
			clear(d)
		case bits.OnesCount64(w^w<<1) > 24:
			j += spreadBits(d, s, w)
		default:
			j += spreadRuns(d, s, w)
		}
	}
}

// spreadBits goes slot by slot without a branch: best where single values are null.
func spreadBits[T uint8 | uint16 | uint32 | uint64](d, s []T, w uint64) int {
	j := 0
	for i := range d {
		if j == len(s) {
			clear(d[i:])
			break
		}
		b := T(w>>uint(i)) & 1
		d[i] = s[j] & -b
		j += int(b)
	}
	return j
}

func spreadRuns[T uint8 | uint16 | uint32 | uint64](d, s []T, w uint64) int {
	j := 0
	for i := 0; i < len(d); {
		gap := min(bits.TrailingZeros64(w), len(d)-i)
		clear(d[i : i+gap])
		i, w = i+gap, w>>uint(gap)
		run := min(bits.TrailingZeros64(^w), len(d)-i)
		copy(d[i:i+run], s[j:j+run])
		i, j, w = i+run, j+run, w>>uint(run)
	}
	return j
}

func spreadWide(dst, src []byte, width int, valid Bitmap, from, n int) {
	for i := 0; i < n; i += 64 {
		k := min(64, n-i)
		w := valid.At(from+i) & LowBits(k)
		for b := 0; b < k; {
			gap := min(bits.TrailingZeros64(w>>uint(b)), k-b)
			clear(dst[(i+b)*width : (i+b+gap)*width])
			b += gap
			run := min(bits.TrailingZeros64(^(w >> uint(b))), k-b)
			copy(dst[(i+b)*width:(i+b+run)*width], src[:run*width])
			src = src[run*width:]
			b += run
		}
	}
}
