package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
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
	zstd   *zstd.Decoder
	gzip   *gzip.Reader
	brotli *brotli.Reader
	src    bytes.Reader
	end    [1]byte
}

// CheckCodec says whether Decompress knows the codec.
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

// Close gives back what the decompressors hold.
func (c *Codecs) Close() {
	if c.zstd != nil {
		c.zstd.Close()
	}
	*c = Codecs{}
}
