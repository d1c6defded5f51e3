package rowgroup

import (
	"context"
	"math"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/shard"
)

// headerWindow is the bytes of a shard that are read at once to look for page headers.
const headerWindow = 64 << 10

// measureChunks finds the sizes that the footer leaves at 0: old versions of DuckDB do that. They
// are the sums of the page headers, which bound the memory that decoding takes.
func (f *footer) measureChunks(ctx context.Context, o shard.Object, end int64) error {
	w := headerReader{object: o, end: end, left: end}
	for i := range f.chunks {
		c := &f.chunks[i]
		if c.uncompressed > 0 || c.compressed == 0 || c.codec == encryptedCodec {
			continue
		}
		if c.codec == uint8(format.Uncompressed) {
			c.uncompressed = c.compressed
		} else if err := w.measure(ctx, c); err != nil {
			return err
		}
		g := &f.groups[i*len(f.groups)/len(f.chunks)]
		g.bytes += min(c.uncompressed, math.MaxInt64-g.bytes)
	}
	return nil
}

// A headerReader reads page headers of a shard.
type headerReader struct {
	object shard.Object
	end    int64 // of the shard's data
	left   int64 // bytes of chunks that may still be walked; chunks that overlap would cost their product

	window []byte
	off    int64 // byte of the shard where window begins
}

// measure adds up the pages of a chunk. It stops at a header that is corrupt, which the decoder
// reports.
func (w *headerReader) measure(ctx context.Context, c *chunkMeta) error {
	var h pageHeader
	at, end := c.start, min(c.start+c.compressed, w.end)
	if w.left -= c.compressed; w.left < 0 {
		return nil
	}
	for values := int64(0); at < end && values < c.values; {
		err := w.header(ctx, at, end, &h)
		if err != nil || h.kind < 0 {
			return err
		}
		if c.uncompressed += int64(h.bytes) + int64(h.size); c.uncompressed > maxChunkBytes {
			c.uncompressed = maxChunkBytes
			return nil
		}
		if h.kind == format.DataPage || h.kind == format.DataPageV2 {
			values += int64(h.values)
		}
		at += int64(h.bytes) + int64(h.stored)
	}
	return nil
}

// header parses the header at a byte of the shard, which ends before another; its kind is -1 where
// it does not parse. Headers with long statistics take a second, larger read.
func (w *headerReader) header(ctx context.Context, at, end int64, h *pageHeader) error {
	for size := int64(headerWindow); ; size = largestTail {
		b, err := w.bytes(ctx, at, min(end-at, size))
		if err != nil {
			return err
		}
		if parsePageHeader(b, h) == nil {
			return nil
		}
		h.kind = -1
		if size == largestTail || int64(len(b)) == end-at {
			return nil
		}
	}
}

// bytes returns n bytes of the shard, or fewer where the window holds enough for a header.
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
	err := w.object.ReadAt(ctx, w.window, at)
	if err != nil {
		w.window = w.window[:0]
		return nil, err
	}
	return w.window[:n], nil
}
