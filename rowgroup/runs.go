package rowgroup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/parquet-go/bitpack"
)

var errShort = errors.New("too few values in the page")

// runs walks an RLE/bit-packed hybrid (parquet-format, Encodings.md, RLE = 3) run by run. After
// next, the run holds n values: packed ones when packed is not nil, else n times value.
type runs struct {
	src    []byte // what follows the current run; bytes behind it up to its capacity may be read, never used
	width  uint   // bits of a value, at most 32
	n      int
	packed []byte
	value  uint32
}

// next goes to the next run, which is never empty. A last packed run that was cut short by its
// writer has the values that are there.
func (r *runs) next() error {
	for len(r.src) > 0 {
		h, k := uint64(r.src[0]), 1
		if h >= 0x80 {
			if h, k = binary.Uvarint(r.src); k <= 0 {
				return fmt.Errorf("%w: a run has no end", errShort)
			}
		}
		r.src = r.src[k:]
		if h&1 != 0 && r.width > 0 {
			size := len(r.src)
			if groups := h >> 1; groups < uint64(size) {
				size = min(size, int(groups)*int(r.width))
			}
			r.packed, r.src = r.src[:size], r.src[size:]
			r.n = int(min(uint64(size)*8/uint64(r.width), h>>1*8))
		} else if err := r.repeated(h); err != nil {
			return err
		}
		if r.n > 0 {
			return nil
		}
	}
	return errShort
}

// repeated reads the value of an RLE run. Values of no bits take no bytes, packed or not.
func (r *runs) repeated(h uint64) error {
	count := h >> 1
	if h&1 != 0 {
		count *= 8
	}
	size := int(r.width+7) / 8
	if size > len(r.src) {
		return errShort
	}
	r.packed, r.value = nil, 0
	for i, c := range r.src[:size] {
		r.value |= uint32(c) << (8 * i)
	}
	r.src = r.src[size:]
	r.n = int(min(count, math.MaxInt32))
	return nil
}

// unpack reads len(dst) values of width bits from src, which holds at least as many.
func unpack(dst []uint32, src []byte, width uint) {
	whole := (len(dst)*int(width) + 7) / 8
	if padded := whole + bitpack.PaddingInt32; padded <= cap(src) {
		bitpack.Unpack(dst, src[:padded], width)
		return
	}
	// Near the end of memory: all but the last values can be read with what follows them as
	// padding.
	var tail [256]byte
	for len(dst) > 0 {
		n := min(len(dst), 32)
		b := (n*int(width) + 7) / 8
		copy(tail[:], src[:b])
		bitpack.Unpack(dst[:n], tail[:b+bitpack.PaddingInt32], width)
		if dst = dst[n:]; len(dst) > 0 {
			src = src[b:] // 32 values are whole bytes
		}
	}
}

// fillBytes sets all bytes, eight at a time.
func fillBytes(dst []byte, v byte) {
	w := uint64(v) * low1
	for ; len(dst) >= 8; dst = dst[8:] {
		binary.LittleEndian.PutUint64(dst, w)
	}
	for i := range dst {
		dst[i] = v
	}
}
