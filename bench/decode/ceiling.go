package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
)

// ceiling reads shards as rowgroup does, one lent range for each row group, and decompresses their
// pages.
type ceiling struct {
	set     string
	columns []string
	zstd    *zstd.Decoder
	buf     []byte
}

func newCeiling(set string, columns []string) *ceiling {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(false))
	if err != nil {
		panic(err) // the options are constants
	}
	return &ceiling{set: set, columns: columns, zstd: d}
}

func (c *ceiling) pass(ctx context.Context) (rows, decoded int64, err error) {
	store := &local.Store{}
	shards, err := store.List(ctx, c.set)
	if err != nil {
		return 0, 0, err
	}
	for _, s := range shards {
		r, d, err := c.shard(ctx, store, s)
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", s.URI, err)
		}
		rows, decoded = rows+r, decoded+d
	}
	return rows, decoded, nil
}

func (c *ceiling) shard(ctx context.Context, store shard.Store, s shard.Shard) (rows, decoded int64, err error) {
	o, err := store.Open(ctx, s)
	if err != nil {
		return 0, 0, err
	}
	defer o.Close()
	f, err := parquet.OpenFile(readerAt{ctx, o}, s.Size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return 0, 0, err
	}
	for _, g := range f.Metadata().RowGroups {
		rows += g.NumRows
		n, err := c.group(o, &g)
		if err != nil {
			return 0, 0, err
		}
		decoded += n
	}
	return rows, decoded, nil
}

// group decompresses the chunks of a row group, which are contiguous.
func (c *ceiling) group(o shard.Object, g *format.RowGroup) (decoded int64, err error) {
	first, end := int64(1<<62), int64(0)
	for i := range g.Columns {
		off, n := extent(&g.Columns[i].MetaData)
		first, end = min(first, off), max(end, off+n)
	}
	lease, ok, err := shard.Lend(o, first, end-first)
	if err != nil || !ok {
		return 0, fmt.Errorf("the file cannot be mapped: %w", err)
	}
	defer lease.Release()
	b := lease.Bytes()
	err = shard.Use(lease, func() error {
		for i := range g.Columns {
			m := &g.Columns[i].MetaData
			if c.columns != nil && !slices.Contains(c.columns, m.PathInSchema[0]) {
				continue
			}
			decoded += m.TotalUncompressedSize
			off, n := extent(m)
			if err := c.chunk(b[off-first:off-first+n], m.Codec); err != nil {
				return err
			}
		}
		return nil
	})
	return decoded, err
}

// extent returns the byte range of a column chunk.
func extent(m *format.ColumnMetaData) (off, n int64) {
	off = m.DataPageOffset
	if m.DictionaryPageOffset > 0 && m.DictionaryPageOffset < off {
		off = m.DictionaryPageOffset
	}
	return off, m.TotalCompressedSize
}

// chunk decompresses the pages of a column chunk in order.
func (c *ceiling) chunk(b []byte, codec format.CompressionCodec) error {
	var protocol thrift.CompactProtocol
	for len(b) > 0 {
		r := bytes.NewReader(b)
		var h format.PageHeader
		if err := thrift.NewDecoder(protocol.NewReader(r)).Decode(&h); err != nil {
			return err
		}
		b = b[len(b)-r.Len():]
		if err := c.page(b[:h.CompressedPageSize], int(h.UncompressedPageSize), codec); err != nil {
			return err
		}
		b = b[h.CompressedPageSize:]
	}
	return nil
}

func (c *ceiling) page(b []byte, size int, codec format.CompressionCodec) (err error) {
	if cap(c.buf) < size+64 {
		c.buf = make([]byte, size+size/4+64)
	}
	dst := c.buf[:size]
	switch codec {
	case format.Uncompressed:
		copy(dst, b)
	case format.Snappy:
		_, err = snappy.Decode(dst, b)
	case format.Zstd:
		_, err = c.zstd.DecodeAll(b, dst[:0])
	default:
		err = fmt.Errorf("codec %v is not measured", codec)
	}
	return err
}

// readerAt reads a shard's footer.
type readerAt struct {
	ctx context.Context
	o   shard.Object
}

func (r readerAt) ReadAt(p []byte, off int64) (int, error) {
	if err := r.o.ReadAt(r.ctx, p, off); err != nil {
		return 0, err
	}
	return len(p), io.EOF
}
