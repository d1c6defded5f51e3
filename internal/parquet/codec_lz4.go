package parquet

import (
	"encoding/binary"

	"github.com/pierrec/lz4/v4"
)

// lz4Magic begins an LZ4 frame.
const lz4Magic = 0x184d2204

// decompressLZ4 reads one raw block.
func decompressLZ4(dst, src []byte) error {
	n, err := lz4.UncompressBlock(src, dst)
	if err == nil && n != len(dst) {
		return ErrLength
	}
	return err
}

// decompressHadoop reads what the codec LZ4 stands for. The format never said: Hadoop's writers put
// blocks after pairs of lengths, others one raw block, and old ones an LZ4 frame. Only the first
// can be told by its look, so it is tried first, as Arrow does.
func (c *Codecs) decompressHadoop(dst, src []byte) error {
	if decompressHadoopBlocks(dst, src) == nil {
		return nil
	}
	if len(src) >= 4 && binary.LittleEndian.Uint32(src) == lz4Magic {
		c.src.Reset(src)
		return c.readAll(lz4.NewReader(&c.src), dst)
	}
	return decompressLZ4(dst, src)
}

// decompressHadoopBlocks reads chunks: a length decompressed (4 bytes, big-endian), then blocks of
// a length compressed (4 bytes) and data, until the chunk is full.
func decompressHadoopBlocks(dst, src []byte) error {
	for len(src) > 0 || len(dst) > 0 {
		if len(src) < 4 {
			return errCodec
		}
		chunk := uint64(binary.BigEndian.Uint32(src))
		src = src[4:]
		if chunk > uint64(len(dst)) {
			return ErrLength
		}
		for rest := dst[:chunk]; len(rest) > 0; {
			if len(src) < 4 {
				return errCodec
			}
			size := uint64(binary.BigEndian.Uint32(src))
			src = src[4:]
			if size == 0 || size > uint64(len(src)) {
				return errCodec
			}
			n, err := lz4.UncompressBlock(src[:size], rest)
			if err != nil || n == 0 {
				return errCodec
			}
			rest, src = rest[n:], src[size:]
		}
		dst = dst[chunk:]
	}
	return nil
}
