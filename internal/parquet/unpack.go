package parquet

import (
	"encoding/binary"

	"github.com/shardfeed/shardfeed/internal/mem"
)

// Words of eight bytes: 1 in each, and the high bit of each.
const (
	Low1     = 0x0101010101010101
	highBits = 0x8080808080808080
)

// UnpackNarrow reads len(dst) values of at most 8 bits: eight at a time, spread from a word by
// halves.
func UnpackNarrow(dst, src []byte, width uint) {
	m4, m2, m1 := LowBits(int(4*width)), LowBits(int(2*width))*0x0000000100000001, LowBits(int(width))*0x0001000100010001
	for len(dst) >= 8 {
		var w uint64
		if len(src) >= 8 {
			w = binary.LittleEndian.Uint64(src)
		} else {
			w = wordOf(src)
		}
		w = w&m4 | w>>(4*width)&m4<<32
		w = w&m2 | w>>(2*width)&m2<<16
		w = w&m1 | w>>width&m1<<8
		binary.LittleEndian.PutUint64(dst, w)
		src, dst = src[width:], dst[8:]
	}
	w := wordOf(src)
	for i := range dst {
		dst[i] = byte(w & LowBits(int(width)))
		w >>= width
	}
}

// UnpackShort reads len(dst) values of at most 16 bits, four at a time.
func UnpackShort(dst []uint16, src []byte, width uint) {
	m2, m1 := LowBits(int(2*width)), LowBits(int(width))*0x0000000100000001
	half, odd := 4*width/8, 4*width%8
	out := mem.AsBytes(dst)
	for len(out) >= 16 && len(src) >= int(half)+8 {
		a := binary.LittleEndian.Uint64(src)
		b := binary.LittleEndian.Uint64(src[half:]) >> odd
		a = a&m2 | a>>(2*width)&m2<<32
		b = b&m2 | b>>(2*width)&m2<<32
		a = a&m1 | a>>width&m1<<16
		b = b&m1 | b>>width&m1<<16
		binary.LittleEndian.PutUint64(out, a)
		binary.LittleEndian.PutUint64(out[8:], b)
		src, out = src[width:], out[16:]
	}
	dst = mem.As[uint16](out)
	acc, have := uint64(0), uint(0)
	for i := range dst {
		for have < width {
			acc |= uint64(src[0]) << have
			src, have = src[1:], have+8
		}
		dst[i] = uint16(acc & LowBits(int(width)))
		acc, have = acc>>width, have-width
	}
}

func wordOf(b []byte) (w uint64) {
	for i, c := range b[:min(len(b), 8)] {
		w |= uint64(c) << (8 * i)
	}
	return w
}

// BytesBelow reports whether all values are below n.
func BytesBelow(vs []byte, n int) bool {
	if n > 1<<8-1 {
		return true
	}
	if n <= 1<<7 {
		all, add := uint64(0), uint64(1<<7-n)*Low1
		for ; len(vs) >= 8; vs = vs[8:] {
			w := binary.LittleEndian.Uint64(vs)
			all |= w | (w&^highBits + add) // the high bit shows a value of 128 or more, or one that the sum brings there
		}
		if all&highBits != 0 {
			return false
		}
	}
	greatest := byte(0)
	for _, v := range vs {
		greatest = max(greatest, v)
	}
	return len(vs) == 0 || int(greatest) < n
}

// ShortsBelow reports whether all values are below n.
func ShortsBelow(vs []uint16, n int) bool {
	if n > 1<<16-1 {
		return true
	}
	if n <= 1<<15 {
		const high = 0x8000800080008000
		all, add := uint64(0), uint64(1<<15-n)*0x0001000100010001
		words := mem.As[uint64](mem.AsBytes(vs))
		for _, w := range words {
			all |= w | (w&^high + add)
		}
		if all&high != 0 {
			return false
		}
		vs = vs[4*len(words):]
	}
	greatest := uint16(0)
	for _, v := range vs {
		greatest = max(greatest, v)
	}
	return len(vs) == 0 || int(greatest) < n
}
