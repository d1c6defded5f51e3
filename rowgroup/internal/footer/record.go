package footer

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/parquet"
)

// A Record holds the parts of one footer that planning and reading need, in the same form in memory
// and in the index on disk: packed columns, read in place. "Per chunk" columns have the chunks of
// leaf 0 in all row groups first, then the chunks of leaf 1, and so on.
//
//	uvarint   row groups G
//	uvarint   leaves L
//	uvarint   bytes of the footer
//	uvarint   length of created_by, then created_by
//	packed    G: rows
//	packed    G: uncompressed bytes of all columns
//	packed    G*L: first byte of the chunk
//	packed    G*L: bytes of the chunk
//	packed    G*L: uncompressed bytes
//	packed    G*L: values
//	packed    G*L: bytes of the dictionary page, 0 for none
//	packed    G*L: data pages that are dictionary-encoded, plus 1; 0 when not known
//	packed    G*L: bytes of BYTE_ARRAY values unencoded, 0 when not known
//	packed    G*L: codec
//	packed    G*L: encodings, bit i for encoding i, bit 14 for unknown ones, bit 15 when every data
//	          page is dictionary-encoded
//	packed    G*L+1: where the chunk's pages start in the columns per page; at the end their number
//	          P. A chunk without an offset index has none
//	packed    P: bytes from the chunk's start to the page
//	packed    P: bytes of the page, header included
//	packed    P: first row of the page in the row group
type Record struct {
	Groups, Leaves int
	FooterBytes    int64
	CreatedBy      []byte

	Rows, Bytes                             packed
	Start, Compressed, Uncompressed, Values packed
	Dict, codes, Binary                     packed
	codecs, EncodingSet                     packed
	firstPage                               packed
	PageOff, PageSize, PageRow              packed
}

// formatRecord turns a footer, which must have been checked, into a record.
func formatRecord(f *parquet.Footer, leaves int) []byte {
	groups := len(f.Groups)
	b := binary.AppendUvarint(nil, uint64(groups))
	b = binary.AppendUvarint(b, uint64(leaves))
	b = binary.AppendUvarint(b, uint64(f.Bytes))
	b = binary.AppendUvarint(b, uint64(len(f.CreatedBy)))
	b = append(b, f.CreatedBy...)
	b = appendPacked(b, groups, func(g int) int64 { return f.Groups[g].Rows })
	b = appendPacked(b, groups, func(g int) int64 { return f.Groups[g].Bytes })
	chunk := func(i int) *parquet.ChunkMeta { return &f.Chunks[i%groups*leaves+i/groups] }
	first := make([]int64, groups*leaves+1)
	var pages []parquet.PageMeta
	for i := range groups * leaves {
		pages = append(pages, chunk(i).Pages...)
		first[i+1] = int64(len(pages))
	}
	for _, get := range chunkColumns {
		b = appendPacked(b, groups*leaves, func(i int) int64 { return get(chunk(i)) })
	}
	b = appendPacked(b, len(first), func(i int) int64 { return first[i] })
	b = appendPacked(b, len(pages), func(i int) int64 { return pages[i].Off })
	b = appendPacked(b, len(pages), func(i int) int64 { return pages[i].Size })
	return appendPacked(b, len(pages), func(i int) int64 { return pages[i].First })
}

// chunkColumns are the columns per chunk in the order of the record.
var chunkColumns = [...]func(c *parquet.ChunkMeta) int64{
	func(c *parquet.ChunkMeta) int64 { return c.Start },
	func(c *parquet.ChunkMeta) int64 { return c.Compressed },
	func(c *parquet.ChunkMeta) int64 { return c.Uncompressed },
	func(c *parquet.ChunkMeta) int64 { return c.Values },
	func(c *parquet.ChunkMeta) int64 { return c.Dict },
	func(c *parquet.ChunkMeta) int64 { return c.Coded },
	func(c *parquet.ChunkMeta) int64 { return c.Binary },
	func(c *parquet.ChunkMeta) int64 { return int64(c.Codec) },
	func(c *parquet.ChunkMeta) int64 { return int64(c.Encodings) },
}

// A lastRecord is the record that was parsed last: the row groups and units of a shard are asked
// about one after another.
type lastRecord struct{ last atomic.Pointer[parsedRecord] }

type parsedRecord struct {
	bytes []byte
	Record
}

func (l *lastRecord) parse(b []byte) (Record, error) {
	if p := l.last.Load(); p != nil && len(p.bytes) == len(b) && unsafe.SliceData(p.bytes) == unsafe.SliceData(b) {
		return p.Record, nil
	}
	r, err := ParseRecord(b)
	if err == nil {
		l.last.Store(&parsedRecord{b, r})
	}
	return r, err
}

// ParseRecord reads a record in place.
func ParseRecord(b []byte) (Record, error) {
	var r Record
	var head [4]uint64
	for i := range head {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > math.MaxUint32 {
			return r, errRecord
		}
		head[i], b = v, b[n:]
	}
	// A footer spends more than a byte on a row group and on a chunk, so its size bounds both.
	if head[0] > head[2] || head[1] > head[2] || head[0]*(head[1]+1) > head[2] || head[3] > uint64(len(b)) {
		return r, errRecord
	}
	r.Groups, r.Leaves, r.FooterBytes = int(head[0]), int(head[1]), int64(head[2])
	r.CreatedBy, b = b[:head[3]], b[head[3]:]
	chunks := r.Groups * r.Leaves
	var err error
	take := func(n int, into ...*packed) {
		for _, p := range into {
			if err == nil {
				*p, b, err = takePacked(b, n)
			}
		}
	}
	take(r.Groups, &r.Rows, &r.Bytes)
	take(chunks, &r.Start, &r.Compressed, &r.Uncompressed, &r.Values, &r.Dict, &r.codes, &r.Binary, &r.codecs, &r.EncodingSet)
	take(chunks+1, &r.firstPage)
	if err != nil {
		return r, err
	}
	pages := r.firstPage.At(chunks)
	if pages < 0 || pages > int64(chunks+len(b)) { // beyond the first, a chunk's pages differ in offset, which takes bytes
		return r, errRecord
	}
	take(int(pages), &r.PageOff, &r.PageSize, &r.PageRow)
	if err == nil && len(b) != 0 {
		err = errRecord
	}
	return r, err
}

// Chunk is the position of a chunk in the columns per chunk.
func (r *Record) Chunk(leaf, group int) int { return leaf*r.Groups + group }

func (r *Record) Codec(chunk int) format.CompressionCodec {
	return format.CompressionCodec(r.codecs.At(chunk))
}

func (r *Record) Uses(chunk int, e format.Encoding) bool {
	return r.EncodingSet.At(chunk)&(1<<e) != 0
}

// Pages is the run of a chunk's pages in the columns per page; empty when the chunk has no offset
// index.
func (r *Record) Pages(chunk int) (lo, hi int) {
	lo, hi = int(r.firstPage.At(chunk)), int(r.firstPage.At(chunk+1))
	if lo < 0 || hi < lo || int64(hi) > r.firstPage.At(r.Groups*r.Leaves) {
		return 0, 0
	}
	return lo, hi
}

// packed is a column of integers in the fewest bytes that hold their differences from the smallest:
// equal values take none. It is read in place, at any index.
//
//	byte 0      width of a value: 0, 1, 2, 4 or 8
//	bytes 1-8   the smallest value, little-endian
//	then        n values of that width, little-endian: the difference from the smallest
type packed struct {
	base  int64
	width uint8
	data  []byte
}

const packedHeader = 9

var errRecord = errors.New("corrupt index record")

// appendPacked appends the packed form of n values, which are not negative.
func appendPacked(b []byte, n int, at func(i int) int64) []byte {
	if n == 0 {
		return append(b, make([]byte, packedHeader)...)
	}
	lo, hi := at(0), at(0)
	for i := 1; i < n; i++ {
		v := at(i)
		lo, hi = min(lo, v), max(hi, v)
	}
	width := packedWidth(uint64(hi - lo))
	b = append(b, width)
	b = binary.LittleEndian.AppendUint64(b, uint64(lo))
	for i := range n {
		switch d := uint64(at(i) - lo); width {
		case 1:
			b = append(b, byte(d))
		case 2:
			b = binary.LittleEndian.AppendUint16(b, uint16(d))
		case 4:
			b = binary.LittleEndian.AppendUint32(b, uint32(d))
		case 8:
			b = binary.LittleEndian.AppendUint64(b, d)
		}
	}
	return b
}

func packedWidth(span uint64) uint8 {
	n := (bits.Len64(span) + 7) / 8
	if n <= 2 {
		return uint8(n)
	}
	return uint8(1 << bits.Len(uint(n-1)))
}

// takePacked reads a column of n values from the front of b and returns what follows it.
func takePacked(b []byte, n int) (packed, []byte, error) {
	if len(b) < packedHeader {
		return packed{}, nil, errRecord
	}
	switch b[0] {
	case 0, 1, 2, 4, 8:
	default:
		return packed{}, nil, errRecord
	}
	p := packed{width: b[0], base: int64(binary.LittleEndian.Uint64(b[1:]))}
	b = b[packedHeader:]
	if p.base < 0 || n > 0 && p.width > 0 && len(b)/int(p.width) < n {
		return packed{}, nil, errRecord
	}
	p.data = b[:n*int(p.width)]
	return p, b[len(p.data):], nil
}

// At returns value i, which must be below the n it was read with. A corrupt column gives a wrong
// value, maybe a negative one.
func (p *packed) At(i int) int64 {
	switch p.width {
	case 1:
		return p.base + int64(p.data[i])
	case 2:
		return p.base + int64(binary.LittleEndian.Uint16(p.data[2*i:]))
	case 4:
		return p.base + int64(binary.LittleEndian.Uint32(p.data[4*i:]))
	case 8:
		return p.base + int64(binary.LittleEndian.Uint64(p.data[8*i:]))
	}
	return p.base
}

// HasRows reports whether a row group has rows.
func (r *Record) HasRows() bool {
	for g := range r.Groups {
		if r.Rows.At(g) > 0 {
			return true
		}
	}
	return false
}
