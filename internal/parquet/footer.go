package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

const (
	MagicBytes = 4
	TailBytes  = 8  // footer length and magic, at the very end
	minFile    = 12 // magic, footer length, magic
)

var (
	ErrNotParquet = errors.New("not a parquet file")
	ErrEncrypted  = errors.New("encrypted parquet is not supported")
	ErrFooter     = errors.New("corrupt footer")
)

// unischemaKey is the key of petastorm's schema in the footer of _common_metadata.
const unischemaKey = "dataset-toolkit.unischema.v1"

// A Footer is the parsed footer of a file, checked against the file's size.
type Footer struct {
	Bytes     int64  // of the footer itself
	Schema    []byte // thrift list of SchemaElement, as stored
	Arrow     []byte // value of the key ARROW:schema
	Unischema []byte // value of petastorm's key
	CreatedBy string
	Rows      int64
	Groups    []GroupMeta
	Chunks    []ChunkMeta // of group 0, then of group 1, ...
	Deletes   bool        // the file lists deleted rows of a table

	// While it is parsed.
	elements  []Element
	allowance allowance
}

// A GroupMeta is the footer's entry of one row group.
type GroupMeta struct {
	Rows, Bytes int64 // bytes: uncompressed, all columns
}

// A ChunkMeta is the footer's entry of one column chunk.
type ChunkMeta struct {
	Start        int64 // byte of the first page, the dictionary's when there is one
	Compressed   int64 // bytes, headers included
	Uncompressed int64
	Values       int64  // nulls included
	Dict         int64  // bytes from start to the first data page; 0 when there is no dictionary page, or it is not known apart
	Coded        int64  // data pages that are dictionary-encoded, plus 1; 0 when the writer does not say
	Binary       int64  // bytes of the BYTE_ARRAY values unencoded, 0 when the writer does not say
	index        int64  // byte of the offset index
	indexBytes   int64  // or 0
	Codec        uint8  // format.CompressionCodec
	Encodings    uint16 // bit i: format.Encoding i is used; see also allCoded
	physical     int8   // must agree with the schema
	Pages        []PageMeta
}

// CheckSize refuses a file that is too short to be parquet.
func CheckSize(size int64) error {
	if size == 0 {
		return fmt.Errorf("%w: the file is empty", ErrNotParquet)
	}
	if size < minFile {
		return fmt.Errorf("%w: %d bytes are too few", ErrNotParquet, size)
	}
	return nil
}

// FooterLength reads the last bytes of a file of that size.
func FooterLength(tail []byte, size int64) (int64, error) {
	switch string(tail[4:]) {
	case "PAR1":
	case "PARE":
		return 0, fmt.Errorf("%w: its footer is encrypted", ErrEncrypted)
	default:
		return 0, fmt.Errorf("%w: it ends in %q, not in \"PAR1\"", ErrNotParquet, tail[4:])
	}
	n := int64(binary.LittleEndian.Uint32(tail))
	if n == 0 || n > size-minFile {
		return 0, fmt.Errorf("%w: its length is %d in a file of %d bytes", ErrFooter, n, size)
	}
	return n, nil
}

// ParseFooter parses FileMetaData; end is its offset in the file, before which data and indexes
// must end.
func ParseFooter(b []byte, end int64) (*Footer, error) {
	f := &Footer{Bytes: int64(len(b)), allowance: newAllowance(len(b))}
	r, err := &thriftReader{b: b}, error(nil)
	r.fields(func(id int16, typ byte) {
		switch {
		case err != nil:
			r.fail()
		case id == 2 && typ == thriftList:
			start := r.pos
			if f.elements, err = readElements(r, &f.allowance); err != nil {
				err = fmt.Errorf("%w: %w", ErrFooter, err)
			}
			f.Schema = r.b[start:r.pos]
		case id == 3 && typ == thriftI64:
			f.Rows = r.int()
		case id == 4 && typ == thriftList:
			err = f.readGroups(r)
		case id == 5 && typ == thriftList:
			err = f.readKeyValues(r)
		case id == 6 && typ == thriftBinary:
			f.CreatedBy = string(r.bytes())
		}
	})
	switch {
	case err != nil:
		return nil, err
	case r.err != nil:
		return nil, fmt.Errorf("%w: %w", ErrFooter, r.err)
	}
	f.Deletes = f.Deletes || ListsPositions(f.elements)
	err = f.check(end)
	f.elements = nil
	return f, err
}

func (f *Footer) readKeyValues(r *thriftReader) error {
	typ, n := r.list()
	for i := 0; i < n && r.expect(typ, thriftStruct); i++ {
		if err := f.allowance.take(keyValueCost, "key-value entries", i); err != nil {
			return fmt.Errorf("%w: %w", ErrFooter, err)
		}
		var key, value []byte
		r.fields(func(id int16, typ byte) {
			switch {
			case id == 1 && typ == thriftBinary:
				key = r.bytes()
			case id == 2 && typ == thriftBinary:
				value = r.bytes()
			}
		})
		switch string(key) {
		case "ARROW:schema":
			f.Arrow = value
		case unischemaKey:
			f.Unischema = value
		}
		f.Deletes = f.Deletes || isDeleteType(key, value)
	}
	return nil
}

func (f *Footer) readGroups(r *thriftReader) error {
	typ, n := r.list()
	f.Groups = make([]GroupMeta, 0, f.allowance.atMost(n, groupCost))
	for i := 0; i < n && r.expect(typ, thriftStruct); i++ {
		if err := f.allowance.take(groupCost, "row groups", i); err != nil {
			return fmt.Errorf("%w: %w", ErrFooter, err)
		}
		if i == 1 { // groups have the same number of chunks
			f.Chunks = slices.Grow(f.Chunks, f.allowance.atMost((n-1)*len(f.Chunks), chunkCost))
		}
		g := GroupMeta{Rows: -1}
		first, err := len(f.Chunks), error(nil)
		r.fields(func(id int16, typ byte) {
			switch {
			case id == 1 && typ == thriftList:
				err = errors.Join(err, f.readChunks(r))
			case id == 3 && typ == thriftI64:
				g.Rows = r.int()
			}
		})
		if err != nil {
			return fmt.Errorf("row group %d: %w", i, err)
		}
		for _, c := range f.Chunks[first:] {
			g.Bytes += min(max(0, c.Uncompressed), math.MaxInt64-g.Bytes)
		}
		f.Groups = append(f.Groups, g)
	}
	return nil
}
