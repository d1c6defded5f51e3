package rowgroup

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/shardfeed/shardfeed/shard"
)

const (
	magicBytes = 4
	tailBytes  = 8  // footer length and magic, at the very end
	minFile    = 12 // magic, footer length, magic
)

// ErrNotParquet is in errors about files that are not parquet.
var ErrNotParquet = errors.New("not a parquet file")

// ErrEncrypted is in errors about files, or columns, that only a key can open.
var ErrEncrypted = errors.New("encrypted parquet is not supported")

var errFooter = errors.New("corrupt footer")

// A footer is what the end of a shard says about it, checked against the shard's size.
type footer struct {
	bytes     int64  // of the footer itself
	schema    []byte // thrift list of SchemaElement, as stored
	elements  []element
	arrow     []byte // value of the key ARROW:schema
	createdBy string
	rows      int64
	groups    []groupMeta
	chunks    []chunkMeta // of group 0, then of group 1, ...
}

type groupMeta struct {
	rows, bytes int64 // bytes: uncompressed, all columns
}

// A chunkMeta is what the footer says of one column chunk.
type chunkMeta struct {
	start        int64 // byte of the first page, the dictionary's when there is one
	compressed   int64 // bytes, headers included
	uncompressed int64
	values       int64  // nulls included
	dict         int64  // bytes from start to the first data page; 0 when there is no dictionary page, or it is not known apart
	coded        int64  // data pages that are dictionary-encoded, plus 1; 0 when the writer does not say
	binary       int64  // bytes of the BYTE_ARRAY values unencoded, 0 when the writer does not say
	index        int64  // byte of the offset index
	indexBytes   int64  // 0 when there is none
	codec        uint8  // format.CompressionCodec
	encodings    uint16 // bit i: format.Encoding i is used; see also allCoded
	physical     int8   // must agree with the schema
	pages        []pageMeta
}

// readFooter reads and checks a shard's footer: one read of its end, a second when the footer is
// larger than the guess, and one of the page index when neither has it.
func readFooter(ctx context.Context, o shard.Object, s shard.Shard, tails *tailGuess) (*footer, error) {
	f, err := readFooterBytes(ctx, o, s.Size, tails)
	if err != nil {
		return nil, &Error{Op: "footer", URI: s.URI, RowGroup: -1, Page: -1, Err: err}
	}
	return f, nil
}

func readFooterBytes(ctx context.Context, o shard.Object, size int64, tails *tailGuess) (*footer, error) {
	if size < minFile {
		return nil, fmt.Errorf("%w: %d bytes are too few", ErrNotParquet, size)
	}
	guess, end, err := tails.begin(ctx, size)
	if err != nil {
		return nil, err
	}
	defer end()
	buf := make([]byte, guess)
	if err := o.ReadAt(ctx, buf, size-int64(len(buf))); err != nil {
		return nil, err
	}
	n, err := footerLength(buf[len(buf)-tailBytes:], size)
	if err != nil {
		return nil, err
	}
	if int64(len(buf)) < n+tailBytes {
		buf = make([]byte, n+tailBytes)
		if err := o.ReadAt(ctx, buf, size-int64(len(buf))); err != nil {
			return nil, err
		}
	}
	f, err := parseFooter(buf[int64(len(buf))-n-tailBytes:len(buf)-tailBytes], size-n-tailBytes)
	if err != nil {
		return nil, err
	}
	if err := f.measureChunks(ctx, o, size-n-tailBytes); err != nil {
		return nil, err
	}
	index := int64(0)
	if lo, hi := f.indexSpan(); lo < hi {
		index = size - lo
	}
	tails.learn(n, index)
	return f, f.readPageIndex(ctx, o, buf, size-int64(len(buf)))
}

// footerLength reads the last bytes of a file of that size.
func footerLength(tail []byte, size int64) (int64, error) {
	switch string(tail[4:]) {
	case "PAR1":
	case "PARE":
		return 0, fmt.Errorf("%w: its footer is encrypted", ErrEncrypted)
	default:
		return 0, fmt.Errorf("%w: it ends in %q, not in \"PAR1\"", ErrNotParquet, tail[4:])
	}
	n := int64(binary.LittleEndian.Uint32(tail))
	if n == 0 || n > size-minFile {
		return 0, fmt.Errorf("%w: its length is %d in a file of %d bytes", errFooter, n, size)
	}
	return n, nil
}

// parseFooter parses FileMetaData; end is the byte of the file at which it begins, which is where
// data and indexes must end.
func parseFooter(b []byte, end int64) (*footer, error) {
	f := &footer{bytes: int64(len(b))}
	r := &thriftReader{b: b}
	var id int16
	r.enter()
	for {
		typ, ok := r.field(&id)
		if !ok {
			break
		}
		if err := f.readField(r, id, typ); err != nil {
			return nil, err
		}
	}
	if r.err != nil {
		return nil, fmt.Errorf("%w: %w", errFooter, r.err)
	}
	return f, f.check(end)
}

func (f *footer) readField(r *thriftReader, id int16, typ byte) error {
	switch {
	case id == 2 && typ == thriftList:
		start := r.pos
		f.elements = readElements(r)
		f.schema = r.b[start:r.pos]
	case id == 3 && typ == thriftI64:
		f.rows = r.int()
	case id == 4 && typ == thriftList:
		return f.readGroups(r)
	case id == 5 && typ == thriftList:
		f.readKeyValues(r)
	case id == 6 && typ == thriftBinary:
		f.createdBy = string(r.bytes())
	default:
		r.skip(typ)
	}
	return nil
}

func (f *footer) readKeyValues(r *thriftReader) {
	typ, n := r.list()
	for i := 0; i < n && r.expect(typ, thriftStruct); i++ {
		var key, value []byte
		readStruct(r, func(id int16, typ byte) {
			switch {
			case id == 1 && typ == thriftBinary:
				key = r.bytes()
			case id == 2 && typ == thriftBinary:
				value = r.bytes()
			default:
				r.skip(typ)
			}
		})
		if string(key) == "ARROW:schema" {
			f.arrow = value
		}
	}
}

// readStruct calls field for each field of a struct; it must read or skip the value.
func readStruct(r *thriftReader, field func(id int16, typ byte)) {
	var id int16
	r.enter()
	for {
		typ, ok := r.field(&id)
		if !ok {
			break
		}
		field(id, typ)
	}
	r.leave()
}

func (f *footer) readGroups(r *thriftReader) error {
	typ, n := r.list()
	for i := 0; i < n && r.expect(typ, thriftStruct); i++ {
		g := groupMeta{rows: -1}
		first, err := len(f.chunks), error(nil)
		readStruct(r, func(id int16, typ byte) {
			switch {
			case id == 1 && typ == thriftList:
				err = errors.Join(err, f.readChunks(r))
			case id == 3 && typ == thriftI64:
				g.rows = r.int()
			default:
				r.skip(typ)
			}
		})
		if err != nil {
			return fmt.Errorf("row group %d: %w", i, err)
		}
		for _, c := range f.chunks[first:] {
			g.bytes += min(max(0, c.uncompressed), math.MaxInt64-g.bytes)
		}
		f.groups = append(f.groups, g)
	}
	return nil
}
