package rowgroup

import (
	"errors"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/format"
)

// maxChunkBytes bounds what a chunk claims to hold, so that sums over chunks do not overflow.
const maxChunkBytes = 1 << 44

// Bits of chunkMeta.encodings that are not encodings.
const (
	unknownEncoding = 14
	allCoded        = 15 // every data page is dictionary-encoded
)

// readChunks reads the list of a row group's column chunks.
func (f *footer) readChunks(r *thriftReader) error {
	typ, n := r.list()
	for i := 0; i < n && r.expect(typ, thriftStruct); i++ {
		c := chunkReader{r: r, m: chunkMeta{physical: -1}}
		readStruct(r, c.field)
		if c.err != nil {
			return fmt.Errorf("column chunk %d: %w", i, c.err)
		}
		if r.err == nil {
			f.chunks = append(f.chunks, c.meta())
		}
	}
	return nil
}

// chunkReader reads one ColumnChunk.
type chunkReader struct {
	r          *thriftReader
	m          chunkMeta
	data, dict int64
	encrypted  bool
	err        error
}

func (c *chunkReader) field(id int16, typ byte) {
	r := c.r
	switch {
	case id == 1 && typ == thriftBinary:
		if path := r.bytes(); len(path) > 0 {
			c.err = fmt.Errorf("its data lies in another file, %q; open that one", path)
		}
	case id == 3 && typ == thriftStruct:
		readStruct(r, c.metaField)
	case id == 4 && typ == thriftI64:
		c.m.index = r.int()
	case id == 5 && typ == thriftI32:
		c.m.indexBytes = r.int()
	case id == 8 || id == 9: // how the column is encrypted, and its metadata when they are too
		c.encrypted = true
		r.skip(typ)
	default:
		r.skip(typ)
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
		c.m.codec = uint8(min(uint64(r.int()), unknownCodec))
	case id == 5 && typ == thriftI64:
		c.m.values = r.int()
	case id == 6 && typ == thriftI64:
		c.m.uncompressed = r.int()
	case id == 7 && typ == thriftI64:
		c.m.compressed = r.int()
	case id == 9 && typ == thriftI64:
		c.data = r.int()
	case id == 11 && typ == thriftI64:
		c.dict = r.int()
	case id == 13 && typ == thriftList:
		c.readEncodingStats()
	case id == 16 && typ == thriftStruct:
		readStruct(r, func(id int16, typ byte) {
			if id == 1 && typ == thriftI64 {
				c.m.binary = max(0, r.int())
			} else {
				r.skip(typ)
			}
		})
	default:
		r.skip(typ)
	}
}

func (c *chunkReader) readEncodings() {
	typ, n := c.r.list()
	for i := 0; i < n && c.r.expect(typ, thriftI32); i++ {
		c.m.encodings |= 1 << min(uint64(c.r.int()), unknownEncoding)
	}
}

// readEncodingStats counts the data pages that are dictionary-encoded, and all others.
func (c *chunkReader) readEncodingStats() {
	coded, other := int64(0), int64(0)
	typ, n := c.r.list()
	for i := 0; i < n && c.r.expect(typ, thriftStruct); i++ {
		page, encoding, pages := int64(-1), int64(-1), int64(0)
		readStruct(c.r, func(id int16, typ byte) {
			switch {
			case id == 1 && typ == thriftI32:
				page = c.r.int()
			case id == 2 && typ == thriftI32:
				encoding = c.r.int()
			case id == 3 && typ == thriftI32:
				pages = c.r.int()
			default:
				c.r.skip(typ)
			}
		})
		if pages <= 0 || page != int64(format.DataPage) && page != int64(format.DataPageV2) {
			continue
		}
		pages = min(pages, math.MaxInt32)
		if encoding == int64(format.RLEDictionary) || encoding == int64(plainDictionary) {
			coded += pages
		} else {
			other += pages
		}
	}
	if coded > 0 && other == 0 {
		c.m.encodings |= 1 << allCoded
	}
	if coded+other > 0 {
		c.m.coded = coded + 1
	}
}

// encryptedCodec stands in the place of a codec when a key is needed to read the chunk. Nothing
// else is known of it then.
const (
	encryptedCodec = 254
	unknownCodec   = 255
)

// meta puts the page offsets together. Without a dictionary, some writers set its offset to zero,
// or to the first data page.
func (c *chunkReader) meta() chunkMeta {
	if c.encrypted {
		return chunkMeta{codec: encryptedCodec}
	}
	c.m.start = c.data
	if c.dict > 0 && c.dict < c.data {
		c.m.start = c.dict
		c.m.dict = c.data - c.dict
	}
	return c.m
}

// check holds the footer against itself and against end, the byte of the file at which it begins.
func (f *footer) check(end int64) error {
	leaves, err := checkElements(f.elements)
	if err != nil {
		return fmt.Errorf("%w: %w", errFooter, err)
	}
	if len(f.chunks) != len(leaves)*len(f.groups) {
		return fmt.Errorf("%w: %d column chunks in %d row groups of %d columns", errFooter, len(f.chunks), len(f.groups), len(leaves))
	}
	rows := int64(0)
	for g, m := range f.groups {
		if m.rows < 0 || m.rows > math.MaxInt64-rows {
			return fmt.Errorf("%w: row group %d has %d rows", errFooter, g, m.rows)
		}
		rows += m.rows
		for i, c := range f.chunks[g*len(leaves) : (g+1)*len(leaves)] {
			if err := c.check(f.elements[leaves[i].element], leaves[i], m.rows, end); err != nil {
				return fmt.Errorf("%w: row group %d, column %d (%s): %w", errFooter, g, i, f.elements[leaves[i].element].name, err)
			}
		}
	}
	if f.rows == 0 { // some writers do not set it
		f.rows = rows
	}
	if rows != f.rows {
		return fmt.Errorf("%w: its row groups hold %d rows, the file %d", errFooter, rows, f.rows)
	}
	return nil
}

func (c *chunkMeta) check(e element, l elementLeaf, rows, end int64) error {
	switch {
	case c.codec == encryptedCodec:
		return nil
	case c.physical != e.physical:
		return fmt.Errorf("physical type %d in the chunk, %d in the schema", c.physical, e.physical)
	case c.compressed < 0 || c.uncompressed < 0 || c.values < 0:
		return errors.New("a negative size")
	case c.uncompressed > maxChunkBytes || c.values > maxChunkBytes || c.binary > maxChunkBytes:
		return fmt.Errorf("%d bytes uncompressed, %d values", c.uncompressed, c.values)
	case c.values < rows || (!l.repeated && c.values != rows):
		return fmt.Errorf("%d values in %d rows", c.values, rows)
	case c.values > 0 && (c.start < magicBytes || c.start > end || c.compressed > end-c.start || c.dict > c.compressed):
		return fmt.Errorf("bytes %d to %d are not in the file's data", c.start, c.start+c.compressed)
	case c.uncompressed > 0 && c.compressed == 0:
		return fmt.Errorf("no bytes")
	case c.indexBytes < 0 || c.index < 0 || c.index > end || c.indexBytes > end-c.index:
		return fmt.Errorf("its offset index at byte %d is not in the file", c.index)
	}
	return nil
}
