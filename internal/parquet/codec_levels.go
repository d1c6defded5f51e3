package parquet

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

const (
	levelStep    = 4 << 10 // bytes that a stream decompresses at least at once
	levelsWindow = 4 << 20 // of zstd; a page that needs a larger one is decompressed whole
)

// DecompressLevels is Decompress for only the levels of a data page of version 1: runs in RLE, each
// after its length. It returns the number of bytes of dst that it filled, including all runs. The
// rest is not read if the codec can stop.
func (c *Codecs) DecompressLevels(codec format.CompressionCodec, dst, src []byte, runs int) (n int, err error) {
	switch codec {
	case format.Snappy:
		n, err = snappyLevels(dst, src, runs)
	case format.Zstd:
		n, err = c.zstdLevels(dst, src, runs)
	default:
		return len(dst), c.Decompress(codec, dst, src)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errCodec, err)
	}
	return n, nil
}

// levelBytes returns the number of bytes of the runs, or the number of bytes needed to find out
// more than b shows.
func levelBytes(b []byte, runs int) int {
	at := 0
	for range runs {
		if len(b) < at+4 {
			return at + 4
		}
		at += 4 + int(binary.LittleEndian.Uint32(b[at:]))
	}
	return at
}

func snappyLevels(dst, src []byte, runs int) (int, error) {
	size, k := binary.Uvarint(src)
	if k <= 0 || size != uint64(len(dst)) {
		return 0, ErrLength
	}
	w := SnappyWalk{Dst: dst, Src: src, Step: levelStep, In: k}
	for {
		need := levelBytes(dst[:w.out], runs)
		switch {
		case need > len(dst):
			return 0, ErrShort
		case need <= w.out:
			return w.out, nil
		}
		for w.out < need {
			if w.In >= len(src) || !w.Element() {
				return 0, fmt.Errorf("byte %d", w.In)
			}
		}
	}
}

func (c *Codecs) zstdLevels(dst, src []byte, runs int) (n int, err error) {
	if c.zstdStream == nil {
		if c.zstdStream, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(levelsWindow)); err != nil {
			return 0, err
		}
	}
	c.src.Reset(src)
	defer c.src.Reset(nil)
	if err = c.zstdStream.Reset(&c.src); err == nil {
		n, err = readLevels(c.zstdStream, dst, runs)
	}
	if err != nil { // of a window that is too large, among others
		return len(dst), c.decompressZstd(dst, src)
	}
	return n, nil
}

// readLevels fills dst from a stream until it has all runs.
func readLevels(r io.Reader, dst []byte, runs int) (n int, err error) {
	for {
		need := levelBytes(dst[:n], runs)
		switch {
		case need > len(dst):
			return 0, ErrShort
		case need <= n:
			return n, nil
		}
		to := min(len(dst), max(need, n+levelStep))
		k, err := io.ReadFull(r, dst[n:to])
		if n += k; err != nil {
			return 0, err
		}
	}
}
