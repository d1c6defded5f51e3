package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/parquet-go/parquet-go/format"
)

var ErrLevels = errors.New("corrupt levels")

// A LevelRun is one page's repetition or definition levels as stored.
type LevelRun struct {
	Src    []byte
	N      int // levels
	Max    int
	Packed bool // the old BIT_PACKED encoding, most significant bit first
}

func (l *LevelRun) width() uint { return uint(bits.Len(uint(l.Max))) }

// SplitLevels takes levels of n entries off the front of a v1 page.
func SplitLevels(b []byte, n, maxLevel int, e format.Encoding) (l LevelRun, rest []byte, err error) {
	l = LevelRun{N: n, Max: maxLevel}
	if maxLevel == 0 {
		return l, b, nil
	}
	switch e {
	case format.RLE:
		if len(b) < 4 {
			return l, nil, fmt.Errorf("%w: no length", ErrLevels)
		}
		size := binary.LittleEndian.Uint32(b)
		if uint64(size) > uint64(len(b)-4) {
			return l, nil, fmt.Errorf("%w: %d bytes of levels in a page of %d", ErrLevels, size, len(b))
		}
		l.Src = b[4 : 4+size]
		return l, b[4+size:], nil
	case format.BitPacked:
		size := (uint64(n)*uint64(l.width()) + 7) / 8
		if size > uint64(len(b)) {
			return l, nil, fmt.Errorf("%w: %d bytes of levels in a page of %d", ErrLevels, size, len(b))
		}
		l.Src, l.Packed = b[:size], true
		return l, b[size:], nil
	}
	return l, nil, fmt.Errorf("%w: encoding %v is not for levels", ErrLevels, e)
}

// AllMax reports whether every level is the greatest, without expanding them.
func (l *LevelRun) AllMax() (bool, error) {
	if l.Max == 0 || l.N == 0 {
		return true, nil
	}
	if l.Packed {
		return false, nil
	}
	r := Runs{Src: l.Src, Width: l.width()}
	for left := l.N; left > 0; left -= r.N {
		if err := r.Next(); err != nil {
			return false, fmt.Errorf("%w: %w", ErrLevels, err)
		}
		switch {
		case r.Packed == nil && r.Value != uint32(l.Max):
			return false, nil
		case r.Packed != nil && (l.Max&(l.Max+1) != 0 || !allOnes(r.Packed, min(r.N, left)*int(r.Width))):
			return false, nil
		}
	}
	return true, nil
}

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
	return n == 0 || ^b[0]&byte(LowBits(n)) == 0
}

// AppendBits sets the bit from pos on of each level that is 1, where 1 is the greatest, and returns
// how many are.
func (l *LevelRun) AppendBits(m Bitmap, pos int) (ones int, err error) {
	if l.Packed {
		for i := range l.N {
			b := uint64(l.Src[i>>3]>>(7-i&7)) & 1
			m.Or(pos+i, b)
			ones += int(b)
		}
		return ones, nil
	}
	r := Runs{Src: l.Src, Width: 1}
	for left := l.N; left > 0; left -= r.N {
		if err := r.Next(); err != nil {
			return 0, fmt.Errorf("%w: %w", ErrLevels, err)
		}
		k := min(r.N, left)
		switch {
		case r.Packed != nil:
			ones += m.appendPacked(pos, r.Packed, k)
		case r.Value > 1:
			return 0, fmt.Errorf("%w: level %d, the greatest is 1", ErrLevels, r.Value)
		case r.Value == 1:
			m.Set(pos, k)
			ones += k
		}
		pos += k
	}
	return ones, nil
}

// MaxLevel is the greatest definition level that [LevelRun] reads. A list of nullable items takes
// two.
const MaxLevel = 127

// Expand writes one byte a level to dst, which has room for l.n, and checks that all are at most
// the greatest.
func (l *LevelRun) Expand(dst []byte) error {
	dst = dst[:l.N]
	if l.Max == 0 {
		clear(dst)
		return nil
	}
	if l.Packed {
		return l.expandPacked(dst)
	}
	if l.Max > MaxLevel {
		return fmt.Errorf("%w: nested %d deep", ErrLevels, l.Max)
	}
	r := Runs{Src: l.Src, Width: l.width()}
	for len(dst) > 0 {
		if err := r.Next(); err != nil {
			return fmt.Errorf("%w: %w", ErrLevels, err)
		}
		k := min(r.N, len(dst))
		if r.Packed == nil {
			if r.Value > uint32(l.Max) {
				return fmt.Errorf("%w: level %d, the greatest is %d", ErrLevels, r.Value, l.Max)
			}
			FillBytes(dst[:k], byte(r.Value))
		} else if UnpackNarrow(dst[:k], r.Packed, r.Width); !BytesBelow(dst[:k], l.Max+1) {
			return fmt.Errorf("%w: above the greatest, %d", ErrLevels, l.Max)
		}
		dst = dst[k:]
	}
	return nil
}

func (l *LevelRun) expandPacked(dst []byte) error {
	w := l.width()
	acc, have, at := uint32(0), uint(0), 0
	for i := range dst {
		for have < w {
			acc = acc<<8 | uint32(l.Src[at])
			at++
			have += 8
		}
		have -= w
		dst[i] = byte(acc >> have & (1<<w - 1))
		if int(dst[i]) > l.Max {
			return fmt.Errorf("%w: level %d, the greatest is %d", ErrLevels, dst[i], l.Max)
		}
	}
	return nil
}
