package rowgroup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/parquet-go/parquet-go/format"
)

var errLevels = errors.New("corrupt levels")

// A levelRun is one page's repetition or definition levels as stored.
type levelRun struct {
	src    []byte
	n      int // levels
	max    int
	packed bool // the old BIT_PACKED encoding, most significant bit first
}

func (l *levelRun) width() uint { return uint(bits.Len(uint(l.max))) }

// splitLevels takes levels of n entries off the front of a v1 page.
func splitLevels(b []byte, n, maxLevel int, e format.Encoding) (l levelRun, rest []byte, err error) {
	l = levelRun{n: n, max: maxLevel}
	if maxLevel == 0 {
		return l, b, nil
	}
	switch e {
	case format.RLE:
		if len(b) < 4 {
			return l, nil, fmt.Errorf("%w: no length", errLevels)
		}
		size := binary.LittleEndian.Uint32(b)
		if uint64(size) > uint64(len(b)-4) {
			return l, nil, fmt.Errorf("%w: %d bytes of levels in a page of %d", errLevels, size, len(b))
		}
		l.src = b[4 : 4+size]
		return l, b[4+size:], nil
	case format.BitPacked:
		size := (uint64(n)*uint64(l.width()) + 7) / 8
		if size > uint64(len(b)) {
			return l, nil, fmt.Errorf("%w: %d bytes of levels in a page of %d", errLevels, size, len(b))
		}
		l.src, l.packed = b[:size], true
		return l, b[size:], nil
	}
	return l, nil, fmt.Errorf("%w: encoding %v is not for levels", errLevels, e)
}

// allMax says whether every level is the greatest, without expanding them.
func (l *levelRun) allMax() (bool, error) {
	if l.max == 0 || l.n == 0 {
		return true, nil
	}
	if l.packed {
		return false, nil
	}
	r := runs{src: l.src, width: l.width()}
	for left := l.n; left > 0; left -= r.n {
		if err := r.next(); err != nil {
			return false, fmt.Errorf("%w: %w", errLevels, err)
		}
		switch {
		case r.packed == nil && r.value != uint32(l.max):
			return false, nil
		case r.packed != nil && (l.max&(l.max+1) != 0 || !allOnes(r.packed, min(r.n, left)*int(r.width))):
			return false, nil
		}
	}
	return true, nil
}

// allOnes says whether the first n bits of b are 1.
func allOnes(b []byte, n int) bool {
	for ; n >= 64; b, n = b[8:], n-64 {
		if binary.LittleEndian.Uint64(b) != ^uint64(0) {
			return false
		}
	}
	for ; n >= 8; b, n = b[1:], n-8 {
		if b[0] != 0xff {
			return false
		}
	}
	return n == 0 || ^b[0]&byte(lowBits(n)) == 0
}

// appendBits sets the bit from pos on of each level that is 1, where 1 is the greatest, and returns
// how many are.
func (l *levelRun) appendBits(m bitmap, pos int) (ones int, err error) {
	if l.packed {
		for i := range l.n {
			b := uint64(l.src[i>>3]>>(7-i&7)) & 1
			m.or(pos+i, b)
			ones += int(b)
		}
		return ones, nil
	}
	r := runs{src: l.src, width: 1}
	for left := l.n; left > 0; left -= r.n {
		if err := r.next(); err != nil {
			return 0, fmt.Errorf("%w: %w", errLevels, err)
		}
		k := min(r.n, left)
		switch {
		case r.packed != nil:
			ones += m.appendPacked(pos, r.packed, k)
		case r.value > 1:
			return 0, fmt.Errorf("%w: level %d, the greatest is 1", errLevels, r.value)
		case r.value == 1:
			m.set(pos, k)
			ones += k
		}
		pos += k
	}
	return ones, nil
}

// expand writes one byte a level to dst, which has room for l.n, and checks that none is above the
// greatest.
func (l *levelRun) expand(dst []byte) error {
	dst = dst[:l.n]
	if l.max == 0 {
		clear(dst)
		return nil
	}
	if l.packed {
		return l.expandPacked(dst)
	}
	if l.max > 127 {
		return fmt.Errorf("%w: nested %d deep", errLevels, l.max)
	}
	r := runs{src: l.src, width: l.width()}
	for len(dst) > 0 {
		if err := r.next(); err != nil {
			return fmt.Errorf("%w: %w", errLevels, err)
		}
		k := min(r.n, len(dst))
		if r.packed == nil {
			if r.value > uint32(l.max) {
				return fmt.Errorf("%w: level %d, the greatest is %d", errLevels, r.value, l.max)
			}
			fillBytes(dst[:k], byte(r.value))
		} else if unpackNarrow(dst[:k], r.packed, r.width); !bytesBelow(dst[:k], l.max+1) {
			return fmt.Errorf("%w: above the greatest, %d", errLevels, l.max)
		}
		dst = dst[k:]
	}
	return nil
}

func (l *levelRun) expandPacked(dst []byte) error {
	w := l.width()
	acc, have, at := uint32(0), uint(0), 0
	for i := range dst {
		for have < w {
			acc = acc<<8 | uint32(l.src[at])
			at++
			have += 8
		}
		have -= w
		dst[i] = byte(acc >> have & (1<<w - 1))
		if int(dst[i]) > l.max {
			return fmt.Errorf("%w: level %d, the greatest is %d", errLevels, dst[i], l.max)
		}
	}
	return nil
}
