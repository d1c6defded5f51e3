package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/parquet-go/bitpack"
)

var ErrShort = errors.New("too few values in the page")

// Runs walks an RLE/bit-packed hybrid (parquet-format, Encodings.md, RLE = 3) run by run. After
// next, the run holds n values: packed ones when packed is not nil, else n times value.
type Runs struct {
	Src    []byte // what follows the current run; bytes behind it up to its capacity may be read, never used
	Width  uint   // bits of a value, at most 32
	N      int
	Packed []byte
	Value  uint32
}

// Next goes to the next run, which is never empty. A last packed run that was cut short by its
// writer has the values that are there.
func (r *Runs) Next() error {
	for len(r.Src) > 0 {
		h, k := uint64(r.Src[0]), 1
		if h >= 0x80 {
			if h, k = binary.Uvarint(r.Src); k <= 0 {
				return fmt.Errorf("%w: a run has no end", ErrShort)
			}
		}
		r.Src = r.Src[k:]
		if h&1 != 0 && r.Width > 0 {
			size := len(r.Src)
			if groups := h >> 1; groups < uint64(size) {
				size = min(size, int(groups)*int(r.Width))
			}
			r.Packed, r.Src = r.Src[:size], r.Src[size:]
			r.N = int(min(uint64(size)*8/uint64(r.Width), h>>1*8))
		} else if err := r.repeated(h); err != nil {
			return err
		}
		if r.N > 0 {
			return nil
		}
	}
	return ErrShort
}

// repeated reads the value of an RLE run. Values of no bits take no bytes, packed or not.
func (r *Runs) repeated(h uint64) error {
	count := h >> 1
	if h&1 != 0 {
		count *= 8
	}
	size := int(r.Width+7) / 8
	if size > len(r.Src) {
		return ErrShort
	}
	r.Packed, r.Value = nil, uint32(wordOf(r.Src[:size]))
	r.Src = r.Src[size:]
	r.N = int(min(count, math.MaxInt32))
	return nil
}

// Unpack reads len(dst) values of width bits from src, which holds at least as many.
func Unpack[T uint32 | uint64](dst []T, src []byte, width uint) {
	if width == 0 {
		clear(dst)
		return
	}
	const padding = bitpack.PaddingInt64
	if padded := (len(dst)*int(width)+7)/8 + padding; padded <= cap(src) {
		bitpack.Unpack(dst, src[:padded], width)
		return
	}
	// Near the end of memory: all but the last values can be read with what follows them as
	// padding.
	var tail [32*8 + padding]byte
	for len(dst) > 0 {
		n := min(len(dst), 32)
		b := (n*int(width) + 7) / 8
		copy(tail[:], src[:b])
		bitpack.Unpack(dst[:n], tail[:b+padding], width)
		if dst = dst[n:]; len(dst) > 0 {
			src = src[b:] // 32 values are whole bytes
		}
	}
}

// FillBytes sets all bytes, eight at a time.
func FillBytes(dst []byte, v byte) {
	w := uint64(v) * Low1
	for ; len(dst) >= 8; dst = dst[8:] {
		binary.LittleEndian.PutUint64(dst, w)
	}
	for i := range dst {
		dst[i] = v
	}
}
