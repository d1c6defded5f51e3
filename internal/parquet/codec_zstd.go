package parquet

import (
	"encoding/binary"

	"github.com/klauspost/compress/zstd"
)

// Parts of the header of a zstd frame (RFC 8878, section 3.1.1.1).
const (
	zstdMagic        = 0xfd2fb528
	zstdHeader       = 6    // magic, descriptor and window, in a frame without a content size
	zstdOtherFields  = 0xe3 // of the descriptor: a content size, a single segment or a dictionary
	zstdSizeOf4Bytes = 0x80
)

// sizedMost is the largest content whose frame is copied to add its size: in a larger one, most
// blocks are decoded at full speed anyway.
const sizedMost = 512 << 10

func (c *Codecs) decompressZstd(dst, src []byte) error {
	if c.addSize(len(dst), src) && c.decodeZstd(dst, c.sized) == nil {
		return nil
	}
	return c.decodeZstd(dst, src) // several frames, or damage
}

func (c *Codecs) decodeZstd(dst, src []byte) error {
	if c.zstd == nil {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(false), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return err
		}
		c.zstd = d
	}
	out, err := c.zstd.DecodeAll(src, dst[:0:len(dst)+CodecSlack])
	if err == nil && len(out) != len(dst) {
		return ErrLength
	}
	return err
}

// addSize copies a frame without the size of its content to c.sized, and adds it. Writers in Java
// leave it out. The decoder then knows that it may write to the slack behind the last block, and is
// faster.
func (c *Codecs) addSize(n int, src []byte) bool {
	if n > sizedMost || len(src) > sizedMost || len(src) < zstdHeader ||
		binary.LittleEndian.Uint32(src) != zstdMagic || src[4]&zstdOtherFields != 0 {
		return false
	}
	c.sized = append(c.sized[:0], src[:zstdHeader]...)
	c.sized[4] |= zstdSizeOf4Bytes
	c.sized = binary.LittleEndian.AppendUint32(c.sized, uint32(n))
	c.sized = append(c.sized, src[zstdHeader:]...)
	return true
}
