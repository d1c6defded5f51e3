package rowgroup

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/snappy"
)

func decompressSnappy(dst, src []byte) error {
	n, err := snappy.DecodedLen(src)
	if err != nil {
		return fmt.Errorf("%w: %w", errCodec, err)
	}
	if n != len(dst) {
		return errLength
	}
	if _, err := snappy.Decode(dst, src); err != nil {
		return fmt.Errorf("%w: %w", errCodec, err)
	}
	return nil
}

// A snappyWalk is decompressSnappy step by step, for pages that hardly compress: their elements are
// few and long, so that all time goes into copying. Elements are those of
// https://github.com/google/snappy/blob/main/format_description.txt.
type snappyWalk struct {
	dst, src []byte
	step     int // the most bytes that are copied at once
	in, out  int // bytes taken and made
	left     int // of a literal that is longer than a step
}

// walkSnappy decompresses src. After each step of so many bytes, and at the end, done gets the
// number of bytes of src that are not touched again.
func walkSnappy(dst, src []byte, step int, done func(n int) error) error {
	size, n := binary.Uvarint(src)
	switch {
	case n <= 0:
		return fmt.Errorf("%w: its length is cut", errCodec)
	case size != uint64(len(dst)):
		return errLength
	}
	w, told := snappyWalk{dst: dst, src: src, step: step, in: n}, 0
	for w.in < len(src) {
		if !w.element() {
			return fmt.Errorf("%w: byte %d", errCodec, w.in)
		}
		if w.in-told >= step || w.in == len(src) {
			told = w.in
			if err := done(told); err != nil {
				return err
			}
		}
	}
	if w.out != len(dst) {
		return errLength
	}
	return nil
}

// element takes one element, or a step of it; false says that there is none.
func (w *snappyWalk) element() bool {
	if w.left > 0 {
		w.copyLiteral()
		return true
	}
	tag := w.src[w.in]
	head := [4]int{1, 2, 3, 5}[tag&3]
	if tag&3 == 0 && tag>>2 >= 60 {
		head = int(tag>>2) - 58
	}
	if head > len(w.src)-w.in {
		return false
	}
	var word [8]byte
	copy(word[:], w.src[w.in+1:w.in+head])
	value := int64(binary.LittleEndian.Uint32(word[:]))
	w.in += head
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

func (w *snappyWalk) literal(n int64) bool {
	if n > int64(len(w.src)-w.in) || n > int64(len(w.dst)-w.out) {
		return false
	}
	w.left = int(n)
	w.copyLiteral()
	return true
}

func (w *snappyWalk) copyLiteral() {
	n := min(w.left, w.step)
	copy(w.dst[w.out:], w.src[w.in:w.in+n])
	w.in, w.out, w.left = w.in+n, w.out+n, w.left-n
}

// repeat copies n bytes from back bytes before; source and destination may overlap.
func (w *snappyWalk) repeat(n int, back int64) bool {
	if back == 0 || back > int64(w.out) || n > len(w.dst)-w.out {
		return false
	}
	from, to := w.dst[w.out-int(back):], w.dst[w.out:w.out+n]
	for len(to) > 0 {
		k := copy(to, from[:min(int(back), len(to))])
		to = to[k:]
	}
	w.out += n
	return true
}
