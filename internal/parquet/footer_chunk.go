package parquet

import (
	"errors"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/format"
)

// maxChunkBytes bounds what a chunk claims to hold, so that sums over chunks do not overflow.
const maxChunkBytes = 1 << 44

// Bits of ChunkMeta.Encodings that are not encodings.
const (
	UnknownEncoding = 14
	AllCoded        = 15 // every data page is dictionary-encoded
)

func (f *Footer) readChunks(r *thriftReader) error {
	typ, n := r.list()
	if len(f.Chunks) == 0 {
		f.Chunks = make([]ChunkMeta, 0, f.allowance.atMost(n, chunkCost))
	}
	for i := 0; i < n && r.expect(typ, thriftStruct); i++ {
		if err := f.allowance.take(chunkCost, "column chunks", len(f.Chunks)); err != nil {
			return fmt.Errorf("%w: %w", ErrFooter, err)
		}
		c := chunkReader{r: r, m: ChunkMeta{physical: -1}}
		r.fields(c.field)
		if c.err != nil {
			return fmt.Errorf("column chunk %d: %w", i, c.err)
		}
		if r.err == nil {
			f.Chunks = append(f.Chunks, c.meta())
		}
	}
	return nil
}

// chunkReader reads one ColumnChunk.
type chunkReader struct {
	r          *thriftReader
	m          ChunkMeta
	data, dict int64
	encrypted  bool
	err        error
}

func (c *chunkReader) field(id int16, typ byte) {
	r := c.r
	switch {
	case id == 1 && typ == thriftBinary:
		if path := r.bytes(); len(path) > 0 {
			c.err = fmt.Errorf("its data is in another file, %q; open that one", path)
		}
	case id == 3 && typ == thriftStruct:
		r.fields(c.metaField)
	case id == 4 && typ == thriftI64:
		c.m.index = r.int()
	case id == 5 && typ == thriftI32:
		c.m.indexBytes = r.int()
	case id == 8 || id == 9: // how the column is encrypted, and its metadata when they are too
		c.encrypted = true
	}
}

func (c *chunkReader) metaField(id int16, typ byte) {
	r := c.r
	switch {
	case id == 1 && typ == thriftI32:
		c.m.physical = int8(min(uint64(r.int()), math.MaxInt8))
	case id == 2 && typ == thriftList:
		c.readEncodings()
	case id == 4 && typ == thriftI32:
		c.m.Codec = uint8(min(uint64(r.int()), unknownCodec))
	case id == 5 && typ == thriftI64:
		c.m.Values = r.int()
	case id == 6 && typ == thriftI64:
		c.m.Uncompressed = r.int()
	case id == 7 && typ == thriftI64:
		c.m.Compressed = r.int()
	case id == 9 && typ == thriftI64:
		c.data = r.int()
	case id == 11 && typ == thriftI64:
		c.dict = r.int()
	case id == 13 && typ == thriftList:
		c.readEncodingStats()
	case id == 16 && typ == thriftStruct:
		r.fields(func(id int16, typ byte) {
			if id == 1 && typ == thriftI64 {
				c.m.Binary = max(0, r.int())
			}
		})
	}
}

func (c *chunkReader) readEncodings() {
	typ, n := c.r.list()
	for i := 0; i < n && c.r.expect(typ, thriftI32); i++ {
		c.m.Encodings |= 1 << min(uint64(c.r.int()), UnknownEncoding)
	}
}

// readEncodingStats counts the data pages that are dictionary-encoded, and all others.
func (c *chunkReader) readEncodingStats() {
	coded, other := int64(0), int64(0)
	typ, n := c.r.list()
	for i := 0; i < n && c.r.expect(typ, thriftStruct); i++ {
		page, encoding, pages := int64(-1), int64(-1), int64(0)
		c.r.fields(func(id int16, typ byte) {
			switch {
			case id == 1 && typ == thriftI32:
				page = c.r.int()
			case id == 2 && typ == thriftI32:
				encoding = c.r.int()
			case id == 3 && typ == thriftI32:
				pages = c.r.int()
			}
		})
		if pages <= 0 || page != int64(format.DataPage) && page != int64(format.DataPageV2) {
			continue
		}
		pages = min(pages, math.MaxInt32)
		if encoding == int64(format.RLEDictionary) || encoding == int64(PlainDictionary) {
			coded += pages
		} else {
			other += pages
		}
	}
	if coded > 0 && other == 0 {
		c.m.Encodings |= 1 << AllCoded
	}
	if coded+other > 0 {
		c.m.Coded = coded + 1
	}
}

// encryptedCodec replaces the codec of a chunk that needs a key. Nothing else is known of it then.
const (
	EncryptedCodec = 254
	unknownCodec   = 255
)

// meta puts the page offsets together. Without a dictionary, some writers set its offset to zero,
// or to the first data page.
func (c *chunkReader) meta() ChunkMeta {
	if c.encrypted {
		return ChunkMeta{Codec: EncryptedCodec}
	}
	c.m.Start = c.data
	if c.dict > 0 && c.dict < c.data {
		c.m.Start = c.dict
		c.m.Dict = c.data - c.dict
	}
	return c.m
}

// check checks the footer's consistency, and its offsets against end, its own offset in the file.
func (f *Footer) check(end int64) error {
	leaves, err := checkElements(f.elements)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFooter, err)
	}
	if err := f.allowance.columns(len(leaves)); err != nil {
		return fmt.Errorf("%w: %w", ErrFooter, err)
	}
	if len(f.Chunks) != len(leaves)*len(f.Groups) {
		return fmt.Errorf("%w: %d column chunks in %d row groups of %d columns", ErrFooter, len(f.Chunks), len(f.Groups), len(leaves))
	}
	rows := int64(0)
	for g, m := range f.Groups {
		if m.Rows < 0 || m.Rows > math.MaxInt64-rows {
			return fmt.Errorf("%w: row group %d has %d rows", ErrFooter, g, m.Rows)
		}
		rows += m.Rows
		for i, c := range f.Chunks[g*len(leaves) : (g+1)*len(leaves)] {
			if err := c.check(f.elements[leaves[i].element], leaves[i], m.Rows, end); err != nil {
				return fmt.Errorf("%w: row group %d, column %d (%s): %w", ErrFooter, g, i, f.elements[leaves[i].element].Name, err)
			}
		}
	}
	if f.Rows == 0 { // some writers do not set it
		f.Rows = rows
	}
	if rows != f.Rows {
		return fmt.Errorf("%w: its row groups hold %d rows, the file %d", ErrFooter, rows, f.Rows)
	}
	return nil
}

func (c *ChunkMeta) check(e Element, l elementLeaf, rows, end int64) error {
	switch {
	case c.Codec == EncryptedCodec:
		return nil
	case c.physical != e.Physical:
		return fmt.Errorf("physical type %d in the chunk, %d in the schema", c.physical, e.Physical)
	case c.Compressed < 0 || c.Uncompressed < 0 || c.Values < 0:
		return errors.New("a negative size")
	case c.Uncompressed > maxChunkBytes || c.Values > maxChunkBytes || c.Binary > maxChunkBytes:
		return fmt.Errorf("%d bytes uncompressed, %d values", c.Uncompressed, c.Values)
	case c.Values < rows || (!l.repeated && c.Values != rows):
		return fmt.Errorf("%d values in %d rows", c.Values, rows)
	case c.Values > 0 && (c.Start < MagicBytes || c.Start > end || c.Compressed > end-c.Start || c.Dict > c.Compressed):
		return fmt.Errorf("bytes %d to %d are not in the file's data", c.Start, c.Start+c.Compressed)
	case c.Uncompressed > 0 && c.Compressed == 0:
		return fmt.Errorf("no bytes")
	case c.indexBytes < 0 || c.index < 0 || c.index > end || c.indexBytes > end-c.index:
		return fmt.Errorf("its offset index at byte %d is not in the file", c.index)
	}
	return nil
}
