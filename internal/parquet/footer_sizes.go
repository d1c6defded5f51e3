package parquet

import (
	"context"
	"math"

	"github.com/parquet-go/parquet-go/format"
)

const (
	headerWindow  = 64 << 10 // bytes of a file that are read at once to look for page headers
	largestHeader = 1 << 20
)

// A ReaderAt is a file: what the footer does not hold is read from it.
type ReaderAt interface {
	ReadAt(ctx context.Context, p []byte, off int64) error
}

// MeasureChunks finds the sizes that the footer leaves at 0, as old versions of DuckDB do, or has
// wrong. They are the sums of the page headers, which bound the memory that decoding takes.
func (f *Footer) MeasureChunks(ctx context.Context, from ReaderAt, end int64) error {
	f.correct(end)
	w := headerReader{from: from, end: end, left: end}
	for i := range f.Chunks {
		c := &f.Chunks[i]
		if c.Uncompressed > 0 || c.Compressed == 0 || c.Codec == EncryptedCodec {
			continue
		}
		if c.Codec == uint8(format.Uncompressed) {
			c.Uncompressed = c.Compressed
		} else if err := w.measure(ctx, c); err != nil {
			return err
		}
		g := &f.Groups[i*len(f.Groups)/len(f.Chunks)]
		g.Bytes += min(c.Uncompressed, math.MaxInt64-g.Bytes)
	}
	return nil
}

// A headerReader reads page headers of a file.
type headerReader struct {
	from ReaderAt
	end  int64 // of the file's data
	left int64 // bytes of chunks that may still be walked; chunks that overlap would cost their product

	window []byte
	off    int64 // offset of window in the file
}

// measure adds up the pages of a chunk. It stops at a header that is corrupt, which the decoder
// reports.
func (w *headerReader) measure(ctx context.Context, c *ChunkMeta) error {
	var h PageHeader
	at, end := c.Start, min(c.Start+c.Compressed, w.end)
	if w.left -= c.Compressed; w.left < 0 {
		return nil
	}
	for values := int64(0); at < end && values < c.Values; {
		err := w.header(ctx, at, end, &h)
		if err != nil || h.Kind < 0 {
			return err
		}
		if c.Uncompressed += int64(h.Bytes) + int64(h.Size); c.Uncompressed > maxChunkBytes {
			c.Uncompressed = maxChunkBytes
			return nil
		}
		if h.Kind == format.DataPage || h.Kind == format.DataPageV2 {
			values += int64(h.Values)
		}
		at += int64(h.Bytes) + int64(h.Stored)
	}
	return nil
}

// header parses the header at a byte of the file, which ends before another; its kind is -1 where
// it does not parse. Headers with long statistics take a second, larger read.
func (w *headerReader) header(ctx context.Context, at, end int64, h *PageHeader) error {
	for size := int64(headerWindow); ; size = largestHeader {
		b, err := w.bytes(ctx, at, min(end-at, size))
		if err != nil {
			return err
		}
		if ParsePageHeader(b, h) == nil {
			return nil
		}
		h.Kind = -1
		if size == largestHeader || int64(len(b)) == end-at {
			return nil
		}
	}
}

// bytes returns n bytes of the file, or fewer where the window holds enough for a header.
func (w *headerReader) bytes(ctx context.Context, at, n int64) ([]byte, error) {
	const enough = 4 << 10
	if have := w.off + int64(len(w.window)) - at; at >= w.off && have >= min(n, enough) && n <= headerWindow {
		return w.window[at-w.off:][:min(n, have)], nil
	}
	size := min(max(n, headerWindow), w.end-at)
	w.off = at
	if int64(cap(w.window)) < size {
		w.window = make([]byte, size)
	}
	w.window = w.window[:size]
	err := w.from.ReadAt(ctx, w.window, at)
	if err != nil {
		w.window = w.window[:0]
		return nil, err
	}
	return w.window[:n], nil
}
