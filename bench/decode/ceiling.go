package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"golang.org/x/sys/unix"
)

// ceiling maps files and decompresses their pages.
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

func (c *ceiling) pass(context.Context) (rows, decoded int64, err error) {
	names, err := filepath.Glob(filepath.Join(c.set, "*.parquet"))
	if err != nil {
		return 0, 0, err
	}
	for _, name := range names {
		r, d, err := c.file(name)
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", name, err)
		}
		rows, decoded = rows+r, decoded+d
	}
	return rows, decoded, nil
}

func (c *ceiling) file(name string) (rows, decoded int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = unix.Munmap(b) }()
	p, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return 0, 0, err
	}
	for _, g := range p.Metadata().RowGroups {
		rows += g.NumRows
		for i := range g.Columns {
			m := &g.Columns[i].MetaData
			if c.columns != nil && !slices.Contains(c.columns, m.PathInSchema[0]) {
				continue
			}
			decoded += m.TotalUncompressedSize
			off := m.DataPageOffset
			if m.DictionaryPageOffset > 0 && m.DictionaryPageOffset < off {
				off = m.DictionaryPageOffset
			}
			if err := c.chunk(b[off:off+m.TotalCompressedSize], m.Codec); err != nil {
				return 0, 0, err
			}
		}
	}
	return rows, decoded, nil
}

// chunk decompresses the pages of a column chunk, one behind the other.
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
