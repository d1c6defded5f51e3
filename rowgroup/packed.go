package rowgroup

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// packed is a column of integers in the fewest bytes that hold their differences from the smallest:
// equal values take none. It is read in place, at any index.
//
//	byte 0      width of a value: 0, 1, 2, 4 or 8
//	bytes 1-8   the smallest value, little-endian
//	then        n values of that width, little-endian: the difference from the smallest
type packed struct {
	base  int64
	width uint8
	data  []byte
}

const packedHeader = 9

var errRecord = errors.New("corrupt index record")

// appendPacked appends the packed form of n values, which are not negative.
func appendPacked(b []byte, n int, at func(i int) int64) []byte {
	if n == 0 {
		return append(b, make([]byte, packedHeader)...)
	}
	lo, hi := at(0), at(0)
	for i := 1; i < n; i++ {
		v := at(i)
		lo, hi = min(lo, v), max(hi, v)
	}
	width := packedWidth(uint64(hi - lo))
	b = append(b, width)
	b = binary.LittleEndian.AppendUint64(b, uint64(lo))
	for i := range n {
		switch d := uint64(at(i) - lo); width {
		case 1:
			b = append(b, byte(d))
		case 2:
			b = binary.LittleEndian.AppendUint16(b, uint16(d))
		case 4:
			b = binary.LittleEndian.AppendUint32(b, uint32(d))
		case 8:
			b = binary.LittleEndian.AppendUint64(b, d)
		}
	}
	return b
}

func packedWidth(span uint64) uint8 {
	n := (bits.Len64(span) + 7) / 8
	if n <= 2 {
		return uint8(n)
	}
	return uint8(1 << bits.Len(uint(n-1)))
}

// takePacked reads a column of n values from the front of b and returns what follows it.
func takePacked(b []byte, n int) (packed, []byte, error) {
	if len(b) < packedHeader {
		return packed{}, nil, errRecord
	}
	switch b[0] {
	case 0, 1, 2, 4, 8:
	default:
		return packed{}, nil, errRecord
	}
	p := packed{width: b[0], base: int64(binary.LittleEndian.Uint64(b[1:]))}
	b = b[packedHeader:]
	if p.base < 0 || n > 0 && p.width > 0 && len(b)/int(p.width) < n {
		return packed{}, nil, errRecord
	}
	p.data = b[:n*int(p.width)]
	return p, b[len(p.data):], nil
}

// at returns value i, which must be below the n it was read with. A corrupt column gives a wrong
// value, maybe a negative one.
func (p *packed) at(i int) int64 {
	switch p.width {
	case 1:
		return p.base + int64(p.data[i])
	case 2:
		return p.base + int64(binary.LittleEndian.Uint16(p.data[2*i:]))
	case 4:
		return p.base + int64(binary.LittleEndian.Uint32(p.data[4*i:]))
	case 8:
		return p.base + int64(binary.LittleEndian.Uint64(p.data[8*i:]))
	}
	return p.base
}
