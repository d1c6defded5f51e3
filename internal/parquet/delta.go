package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"
)

// ErrDelta is in errors about pages in a delta encoding.
var ErrDelta = errors.New("corrupt delta encoding")

// deltaHead is the header of a DELTA_BINARY_PACKED run.
type deltaHead struct {
	minis    int // miniblocks in a block
	perMini  int // values in a miniblock
	total    uint64
	first    int64
	consumed int
}

// A varintReader reads varints off the front of b; after the first that has no end, ok is false.
type varintReader struct {
	b   []byte
	pos int
	bad bool
}

func (r *varintReader) uint() uint64 {
	v, k := binary.Uvarint(r.b[r.pos:])
	if k <= 0 {
		r.bad = true
		return 0
	}
	r.pos += k
	return v
}

func (r *varintReader) int() int64 {
	u := r.uint()
	return int64(u>>1) ^ -int64(u&1)
}

func readDeltaHead(src []byte) (h deltaHead, err error) {
	r := varintReader{b: src}
	block, minis := r.uint(), r.uint()
	h.total, h.first = r.uint(), r.int()
	h.consumed = r.pos
	const most = 1 << 20 // of values in a block; writers use 128 to 1024
	if r.bad || minis == 0 || block == 0 || block > most || block%minis != 0 || block/minis%8 != 0 {
		return h, fmt.Errorf("%w: %d values in %d miniblocks", ErrDelta, block, minis)
	}
	h.minis, h.perMini = int(minis), int(block/minis)
	return h, nil
}

// DecodeDelta reads len(dst) values of the DELTA_BINARY_PACKED encoding, which take used bytes.
func DecodeDelta[T uint32 | uint64](dst []T, src []byte) (used int, err error) {
	h, err := readDeltaHead(src)
	if err != nil {
		return 0, err
	}
	if h.total != uint64(len(dst)) {
		return 0, fmt.Errorf("%w: %d values, %d expected", ErrDelta, h.total, len(dst))
	}
	src = src[:len(src):cap(src)]
	at := h.consumed
	if len(dst) == 0 {
		return at, nil
	}
	last := T(h.first)
	dst[0] = last
	for dst = dst[1:]; len(dst) > 0; {
		r := varintReader{b: src, pos: at}
		least := T(r.int())
		if r.bad || h.minis > len(src)-r.pos {
			return 0, fmt.Errorf("%w: %w", ErrDelta, ErrShort)
		}
		widths := src[r.pos : r.pos+h.minis]
		at = r.pos + h.minis
		for _, w := range widths {
			if len(dst) == 0 {
				break // miniblocks that are not needed have no bytes
			}
			n := min(h.perMini, len(dst))
			size := h.perMini * int(w) / 8
			if w > 64 || (n*int(w)+7)/8 > len(src)-at {
				return 0, fmt.Errorf("%w: a miniblock of %d bits a value: %w", ErrDelta, w, ErrShort)
			}
			if uintptr(w) > 8*unsafe.Sizeof(last) {
				unpackLow(dst[:n], src[at:], uint(w))
			} else {
				Unpack(dst[:n], src[at:], uint(w))
			}
			for i, v := range dst[:n] {
				last += least + v
				dst[i] = last
			}
			dst = dst[n:]
			at = min(at+size, len(src))
		}
	}
	return at, nil
}

// unpackLow is Unpack where values have more bits than T: it keeps the low ones. DuckDB takes
// the differences of 32-bit integers in 64 bits and so writes 33 of them; sums wrap around, so the
// values come out right.
func unpackLow[T uint32 | uint64](dst []T, src []byte, width uint) {
	var wide [32]uint64
	for len(dst) > 0 {
		n := min(len(dst), len(wide))
		Unpack(wide[:n], src, width)
		for i, v := range wide[:n] {
			dst[i] = T(v)
		}
		if dst = dst[n:]; len(dst) > 0 {
			src = src[4*width:] // 32 values are whole bytes
		}
	}
}
