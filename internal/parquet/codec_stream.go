package parquet

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// ErrNoStream reports that a body must be decompressed whole.
var ErrNoStream = errors.New("not decompressed in steps")

// BeginZstd starts to decompress a body in steps, which [Codecs.NextZstd] reads. EndZstd must
// follow.
func (c *Codecs) BeginZstd(src []byte) (err error) {
	if c.zstdSteps == nil {
		if c.zstdSteps, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(false), zstd.WithDecoderMaxWindow(levelsWindow)); err != nil {
			return err
		}
	}
	c.src.Reset(src)
	return c.zstdSteps.Reset(&c.src)
}

// LevelsZstd reads runs of levels, like DecompressLevels.
func (c *Codecs) LevelsZstd(dst []byte, runs int) (n int, err error) {
	n, err = readLevels(c.zstdSteps, dst, runs)
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, ErrShort) {
		return 0, ErrNoStream
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errCodec, err)
	}
	return n, nil
}

// NextZstd fills dst.
func (c *Codecs) NextZstd(dst []byte) error {
	if _, err := io.ReadFull(c.zstdSteps, dst); err != nil {
		return fmt.Errorf("%w: %w", errCodec, err)
	}
	return nil
}

// EndZstd makes sure that the body has ended, unless it was given up.
func (c *Codecs) EndZstd(whole bool) (err error) {
	if whole {
		if n, readErr := c.zstdSteps.Read(c.end[:]); n != 0 {
			err = ErrLength
		} else if readErr != io.EOF {
			err = fmt.Errorf("%w: %w", errCodec, readErr)
		}
	}
	c.src.Reset(nil)
	return err
}
