package roaring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// ErrDamaged is a bitmap or a frame that cannot be read.
var ErrDamaged = errors.New("damaged deletion vector")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...)
}

// FrameBytes is the size of a frame around a bitmap.
const FrameBytes = 8

// Frame returns the bitmap within a frame: a length, the bitmap and its CRC-32. Bytes behind the
// frame are damage.
func Frame(b []byte) ([]byte, error) {
	if len(b) < FrameBytes {
		return nil, damaged("it has %d bytes", len(b))
	}
	n := uint64(binary.BigEndian.Uint32(b))
	if n+FrameBytes != uint64(len(b)) {
		return nil, damaged("it has %d bytes, and says %d", len(b)-FrameBytes, n)
	}
	bitmap := b[4 : 4+n]
	if got, want := crc32.ChecksumIEEE(bitmap), binary.BigEndian.Uint32(b[4+n:]); got != want {
		return nil, damaged("its checksum is %08x, and should be %08x", got, want)
	}
	return bitmap, nil
}
