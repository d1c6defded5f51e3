package parquet

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/snappy"
)

var vectorSnappy = hasSnappyElements()

// snappySlack is how many bytes snappyElements may look at or write behind an element.
const snappySlack = 80

// DecompressSnappy fills dst with what src holds.
func DecompressSnappy(dst, src []byte) error {
	if vectorSnappy {
		return decompressElements(dst, src)
	}
	n, err := snappy.DecodedLen(src)
	if err == nil && n != len(dst) {
		return ErrLength
	}
	if err == nil {
		_, err = snappy.Decode(dst, src)
	}
	return err
}

// decompressElements walks where snappyElements does not go: near the ends, and over what is rare.
func decompressElements(dst, src []byte) error {
	w, err := walkSnappy(dst, src, len(src))
	if err != nil {
		return err
	}
	for w.In < len(src) {
		w.elements(len(src))
		if !w.Element() {
			return fmt.Errorf("%w: byte %d", errCodec, w.In)
		}
	}
	return w.end()
}

// A SnappyWalk is DecompressSnappy step by step, for pages that hardly compress: their elements are
// few and long, so that copying takes all the time. For the elements see
// https://github.com/google/snappy/blob/main/format_description.txt.
type SnappyWalk struct {
	Dst, Src []byte
	Step     int // the most bytes that are copied at once
	In, out  int // bytes taken and made
	left     int // of a literal that is longer than a step
}

// WalkSnappy decompresses src. After each step of step bytes, and at the end, done gets the number
// of bytes of src that are not read again.
func WalkSnappy(dst, src []byte, step int, done func(n int) error) error {
	w, err := walkSnappy(dst, src, step)
	if err != nil {
		return err
	}
	told := 0
	for w.In < len(src) {
		w.elements(min(len(src), told+step))
		if !w.Element() {
			return fmt.Errorf("%w: byte %d", errCodec, w.In)
		}
		if w.In-told >= step || w.In == len(src) {
			told = w.In
			if err := done(told); err != nil {
				return err
			}
		}
	}
	return w.end()
}

// walkSnappy starts a walk after the length.
func walkSnappy(dst, src []byte, step int) (SnappyWalk, error) {
	size, n := binary.Uvarint(src)
	switch {
	case n <= 0:
		return SnappyWalk{}, fmt.Errorf("%w: its length is cut", errCodec)
	case size != uint64(len(dst)):
		return SnappyWalk{}, ErrLength
	}
	return SnappyWalk{Dst: dst, Src: src, Step: step, In: n}, nil
}

// elements decompresses elements before end, except near it and at a rare one.
func (w *SnappyWalk) elements(end int) {
	if vectorSnappy && w.left == 0 && len(w.Dst) > snappySlack {
		w.out, w.In = snappyElements(w.Dst, w.Src[:end], w.out, w.In, theSnappyTables)
	}
}

// end returns an error unless all announced bytes have come.
func (w *SnappyWalk) end() error {
	if w.out != len(w.Dst) {
		return ErrLength
	}
	return nil
}

// Element decompresses one element, or a step of it, and returns false at the end.
func (w *SnappyWalk) Element() bool {
	if w.left > 0 {
		w.copyLiteral()
		return true
	}
	tag := w.Src[w.In]
	head := [4]int{1, 2, 3, 5}[tag&3]
	if tag&3 == 0 && tag>>2 >= 60 {
		head = int(tag>>2) - 58
	}
	if head > len(w.Src)-w.In {
		return false
	}
	var word [8]byte
	copy(word[:], w.Src[w.In+1:w.In+head])
	value := int64(binary.LittleEndian.Uint32(word[:]))
	w.In += head
	switch {
	case tag&3 == 0 && head == 1:
		return w.literal(int64(tag>>2) + 1)
	case tag&3 == 0:
		return w.literal(value + 1)
	case tag&3 == 1:
		return w.repeat(int(tag>>2&7)+4, value|int64(tag>>5)<<8)
	}
	return w.repeat(int(tag>>2)+1, value)
}

func (w *SnappyWalk) literal(n int64) bool {
	if n > int64(len(w.Src)-w.In) || n > int64(len(w.Dst)-w.out) {
		return false
	}
	w.left = int(n)
	w.copyLiteral()
	return true
}

func (w *SnappyWalk) copyLiteral() {
	n := min(w.left, w.Step)
	copy(w.Dst[w.out:], w.Src[w.In:w.In+n])
	w.In, w.out, w.left = w.In+n, w.out+n, w.left-n
}

// repeat copies n bytes from back bytes before; source and destination may overlap.
func (w *SnappyWalk) repeat(n int, back int64) bool {
	if back == 0 || back > int64(w.out) || n > len(w.Dst)-w.out {
		return false
	}
	from, to := w.Dst[w.out-int(back):], w.Dst[w.out:w.out+n]
	for len(to) > 0 {
		k := copy(to, from[:min(int(back), len(to))])
		to = to[k:]
	}
	w.out += n
	return true
}
