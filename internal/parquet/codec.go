package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// CodecSlack is how many bytes behind its result a codec may overwrite. The zstd decoder is faster
// when it has them.
const CodecSlack = 32

var (
	errCodec  = errors.New("corrupt compressed data")
	ErrLength = fmt.Errorf("%w: it does not have the length that the page header says", errCodec)
)

// Codecs holds the decompressors of one goroutine.
type Codecs struct {
	zstd       *zstd.Decoder
	zstdStream *zstd.Decoder // of levels
	zstdSteps  *zstd.Decoder
	gzip       *gzip.Reader
	brotli     *brotli.Reader
	src        bytes.Reader
	end        [1]byte
}

// CheckCodec returns an error unless Decompress supports the codec.
func CheckCodec(c format.CompressionCodec) error {
	switch c {
	case format.Uncompressed, format.Snappy, format.Gzip, format.Zstd, format.Brotli, format.Lz4Raw, format.Lz4:
		return nil
	}
	return fmt.Errorf("codec %v is not supported", c)
}

// Decompress fills dst with what src holds. dst must have codecSlack bytes of capacity behind it.
// Nothing is allocated beyond what a codec needs for its window, whatever src says.
func (c *Codecs) Decompress(codec format.CompressionCodec, dst, src []byte) error {
	if len(dst) == 0 && len(src) == 0 {
		return nil
	}
	if err := CheckCodec(codec); err != nil {
		return err
	}
	err := c.decompress(codec, dst, src)
	if err != nil && !errors.Is(err, errCodec) {
		return fmt.Errorf("%w: %w", errCodec, err)
	}
	return err
}

func (c *Codecs) decompress(codec format.CompressionCodec, dst, src []byte) error {
	switch codec {
	case format.Uncompressed:
		if len(src) != len(dst) {
			return ErrLength
		}
		copy(dst, src)
		return nil
	case format.Snappy:
		return DecompressSnappy(dst, src)
	case format.Zstd:
		return c.decompressZstd(dst, src)
	case format.Gzip:
		return c.decompressGzip(dst, src)
	case format.Brotli:
		return c.decompressBrotli(dst, src)
	case format.Lz4Raw:
		return decompressLZ4(dst, src)
	}
	return c.decompressHadoop(dst, src)
}

func (c *Codecs) decompressZstd(dst, src []byte) error {
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

func (c *Codecs) decompressGzip(dst, src []byte) error {
	c.src.Reset(src)
	var err error
	if c.gzip == nil {
		c.gzip, err = gzip.NewReader(&c.src)
	} else {
		err = c.gzip.Reset(&c.src)
	}
	if err != nil {
		c.gzip = nil
		return err
	}
	return c.readAll(c.gzip, dst)
}

func (c *Codecs) decompressBrotli(dst, src []byte) error {
	c.src.Reset(src)
	if c.brotli == nil {
		c.brotli = brotli.NewReader(&c.src)
	} else if err := c.brotli.Reset(&c.src); err != nil {
		return err
	}
	return c.readAll(c.brotli, dst)
}

// readAll fills dst from a stream that must end with it.
func (c *Codecs) readAll(r io.Reader, dst []byte) error {
	defer c.src.Reset(nil)
	if _, err := io.ReadFull(r, dst); err != nil {
		return err
	}
	switch n, err := r.Read(c.end[:]); {
	case n != 0:
		return ErrLength
	case err != io.EOF:
		return err
	}
	return nil
}

// Close frees the decompressors.
func (c *Codecs) Close() {
	if c.zstd != nil {
		c.zstd.Close()
	}
	if c.zstdStream != nil {
		c.zstdStream.Close()
	}
	if c.zstdSteps != nil {
		c.zstdSteps.Close()
	}
	*c = Codecs{}
}

// lz4Magic starts an LZ4 frame.
const lz4Magic = 0x184d2204

func decompressLZ4(dst, src []byte) error {
	n, err := lz4.UncompressBlock(src, dst)
	if err == nil && n != len(dst) {
		return ErrLength
	}
	return err
}

// decompressHadoop decompresses the codec LZ4. The format never defined it: Hadoop's writers put
// blocks after pairs of lengths, others one raw block, and old ones an LZ4 frame. Only the first is
// recognizable, so it is tried first, as in Arrow.
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
