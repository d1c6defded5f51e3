package rowgroup

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// A craft is a column chunk made by hand, for what no writer makes any more, and for what none
// should.
type craft struct {
	pages  []byte
	values int
	size   int
	codec  format.CompressionCodec
	crc    bool

	dictBytes int64 // of the dictionary's page
	encodings []format.Encoding
	stats     []format.PageEncodingStats
}

// note keeps what a footer says of a page.
func (c *craft) note(p format.PageType, e format.Encoding) {
	c.encodings = append(c.encodings, e)
	c.stats = append(c.stats, format.PageEncodingStats{PageType: p, Encoding: e, Count: 1})
}

func (c *craft) add(h format.PageHeader, levels, body []byte) *craft {
	stored := body
	switch c.codec {
	case format.Snappy:
		stored = snappy.Encode(nil, body)
	case format.Zstd:
		w, err := zstd.NewWriter(nil, zstd.WithZeroFrames(true), zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err)
		}
		stored = w.EncodeAll(body, nil)
	}
	stored = append(bytes.Clone(levels), stored...)
	h.UncompressedPageSize, h.CompressedPageSize = int32(len(levels)+len(body)), int32(len(stored))
	if c.crc {
		h.CRC = int32(crc32.ChecksumIEEE(stored))
	}
	head, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
	if err != nil {
		panic(err)
	}
	c.pages = append(append(c.pages, head...), stored...)
	c.size += len(levels) + len(body) + len(head)
	return c
}

// v1 adds a page whose levels, if any, stand at the front of body.
func (c *craft) v1(values int, e, levels format.Encoding, body ...[]byte) *craft {
	c.values += values
	c.note(format.DataPage, e)
	return c.add(format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{
		NumValues: int32(values), Encoding: e, DefinitionLevelEncoding: levels, RepetitionLevelEncoding: levels,
	})}, nil, bytes.Join(body, nil))
}

func (c *craft) v2(values, rows int, e format.Encoding, rep, def []byte, body ...[]byte) *craft {
	c.values += values
	c.note(format.DataPageV2, e)
	return c.add(format.PageHeader{Type: format.DataPageV2, DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{
		NumValues: int32(values), NumRows: int32(rows), Encoding: e, IsCompressed: thrift.New(true),
		DefinitionLevelsByteLength: int32(len(def)), RepetitionLevelsByteLength: int32(len(rep)),
	})}, append(bytes.Clone(rep), def...), bytes.Join(body, nil))
}

func (c *craft) dict(values int, body ...[]byte) *craft {
	c.note(format.DictionaryPage, format.Plain)
	c.add(format.PageHeader{Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{
		NumValues: int32(values), Encoding: format.Plain,
	})}, nil, bytes.Join(body, nil))
	c.dictBytes = int64(len(c.pages))
	return c
}

// craftFile is a file of one row group with the crafts as its columns.
func craftFile(t testing.TB, schema string, rows int, columns ...*craft) []byte {
	t.Helper()
	return filetest.File{Schema: schema, Rows: []int{rows}, Data: func(i int, c *format.ColumnMetaData) []byte {
		k := columns[i]
		c.NumValues, c.TotalUncompressedSize, c.TotalCompressedSize = int64(k.values), int64(k.size), int64(len(k.pages))
		c.Codec, c.Encoding, c.EncodingStats = k.codec, append(k.encodings, format.RLE), k.stats
		c.DictionaryPageOffset = 0
		if k.dictBytes > 0 {
			c.DictionaryPageOffset = c.DataPageOffset
			c.DataPageOffset += k.dictBytes
		}
		return k.pages
	}}.Bytes(t)
}

// chunk is the craft as the chunk of a leaf with so many rows.
func (c *craft) chunk(l *schema.Leaf, rows int) rawChunk {
	return rawChunk{
		leaf: l, codec: c.codec, pages: c.pages, pagesOff: 100, lastRow: int64(rows),
		numValues: int64(c.values), uncompressedBytes: int64(c.size),
	}
}

const (
	refuseUTF8  = false
	replaceUTF8 = true
)

// decodeCrafted decodes one column of chunks and returns its rows, or the error.
func decodeCrafted(n *schema.Node, rows int, l Layout, replace bool, chunks ...rawChunk) (string, error) {
	pool := &mem.Pool{}
	d := newDecoder(pool, replace)
	defer d.Close()
	if l.Parts > 1 {
		l.Order = byPart(l)
	}
	blocks, err := d.Decode(&Raw{Rows: Rows{Hi: int64(rows)}, uri: "mem://crafted", columns: []*schema.Node{n}, chunks: chunks}, l)
	if err != nil {
		return "", err
	}
	texts, at := make([]string, rows), 0
	for _, b := range blocks {
		for i := range b.Rows() {
			row := at
			if l.Order != nil {
				row = int(l.Order[at])
			}
			texts[row] = dump(block.Columns(b)[0], block.Columns(b)[0].Place(i))
			at++
		}
		b.Release()
	}
	return strings.Join(texts, " "), nil
}

// byPart is an order that goes through the parts one after the other.
func byPart(l Layout) []uint32 {
	order := make([]uint32, len(l.Part))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortStableFunc(order, func(a, b uint32) int { return int(l.Part[a]) - int(l.Part[b]) })
	return order
}

func craftLeaf(typ schema.Physical, def, rep int, f column.Field) *schema.Node {
	f.Name = "c"
	return &schema.Node{Field: &f, Def: def, Rep: rep, Leaf: &schema.Leaf{Path: "c", Type: typ, MaxDef: def, MaxRep: rep}}
}

func craftList(item *schema.Node) *schema.Node {
	return &schema.Node{
		Field: &column.Field{Name: "list", Kind: column.List, Nullable: true, Children: []*column.Field{item.Field}},
		Def:   1, RepDef: 2, Rep: 1, Children: []*schema.Node{item},
	}
}

var (
	i32Field  = column.Field{Kind: column.Fixed, Type: column.TypeInt32, Width: 4}
	textField = column.Field{Kind: column.Binary, Type: column.TypeString}
)

func le32(vs ...int32) (b []byte) {
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

func plainText(vs ...string) (b []byte) {
	for _, v := range vs {
		b = append(b, le32(int32(len(v)))...)
		b = append(b, v...)
	}
	return b
}

// sized32 puts the length of levels before them, as v1 pages do.
func sized32(b ...byte) []byte { return append(le32(int32(len(b))), b...) }

// Hybrids of width 1: one packed run, the values as bits of bytes; one repeated run.
func packed1(b ...byte) []byte { return append([]byte{byte(len(b)<<1 | 1)}, b...) }

func repeated(n int, value byte) []byte {
	return append(binary.AppendUvarint(nil, uint64(n)<<1), value)
}
func codes8(width byte, b ...byte) []byte { return append([]byte{width}, b...) }

func TestDecodeCrafted(t *testing.T) {
	optional, text := craftLeaf(format.Int32, 1, 0, i32Field), craftLeaf(format.ByteArray, 0, 0, textField)
	required := craftLeaf(format.Int32, 0, 0, i32Field)
	list := craftList(craftLeaf(format.Int32, 2, 1, i32Field))
	nullItems := craftList(craftLeaf(format.Int32, 3, 1, i32Field))
	boolean := craftLeaf(format.Boolean, 0, 0, column.Field{Kind: column.Fixed, Type: column.TypeBool, Width: 1})
	leafOf := func(n *schema.Node) *schema.Leaf {
		if n.Leaf != nil {
			return n.Leaf
		}
		return n.Children[0].Leaf
	}
	for _, c := range []struct {
		name string
		n    *schema.Node
		rows int
		c    *craft
		want string // or the beginning of the error behind its place
	}{
		{
			"bit-packed levels", optional, 9, new(craft).v1(9, format.Plain, format.BitPacked, []byte{0b10110011, 0b10000000}, le32(1, 2, 3, 4, 5, 6)),
			"01000000 null 02000000 03000000 null null 04000000 05000000 06000000",
		},
		{
			"bit-packed levels of a list", list, 3, new(craft).v1(5, format.Plain, format.BitPacked, []byte{0b01001000}, []byte{0b10100110, 0b10000000}, le32(1, 2, 3, 4)),
			"[01000000 02000000] [] [03000000 04000000]",
		},
		{
			"dictionary, then plain", required, 5, new(craft).dict(2, le32(7, 8)).v1(3, parquet.PlainDictionary, format.RLE, codes8(1, packed1(0b101)...)).v1(2, format.Plain, format.RLE, le32(1, 2)),
			"08000000 07000000 08000000 01000000 02000000",
		},
		{
			"dictionary, then plain text", text, 4, new(craft).dict(2, plainText("a", "bb")).v1(2, format.RLEDictionary, format.RLE, codes8(1, packed1(0b01)...)).v1(2, format.Plain, format.RLE, plainText("x", "")),
			`"bb" "a" "x" ""`,
		},
		{"codes of no bits", text, 3, new(craft).dict(1, plainText("one")).v1(3, format.RLEDictionary, format.RLE, codes8(0, repeated(3, 0)[:1]...)), `"one" "one" "one"`},
		{"an empty dictionary and nulls alone", optional, 2, new(craft).dict(0).v1(2, format.RLEDictionary, format.RLE, sized32(repeated(2, 0)...)), "null null"},
		{
			"repeated codes", required, 20, new(craft).dict(2, le32(7, 8)).v1(20, format.RLEDictionary, format.RLE, codes8(1, append(repeated(19, 1), repeated(1, 0)...)...)),
			strings.Repeat("08000000 ", 19) + "07000000",
		},
		{
			"a last run that its writer cut", required, 3, new(craft).dict(300, le32(make([]int32, 300)...)).v1(3, format.RLEDictionary, format.RLE, codes8(9, 3, 1, 2, 4, 0)),
			"00000000 00000000 00000000",
		},
		{"a row over two pages", list, 2, new(craft).v1(2, format.Plain, format.RLE, sized32(packed1(0b10)...), sized32(repeated(2, 2)...), le32(1, 2)).
			v1(2, format.Plain, format.RLE, sized32(packed1(0b01)...), sized32(repeated(2, 2)...), le32(3, 4)), "[01000000 02000000 03000000] [04000000]"},
		{
			"null, empty, null item", nullItems, 3, new(craft).v1(5, format.Plain, format.RLE, sized32(packed1(0b11000)...), sized32(packed2(0, 1, 2, 3, 3)...), le32(1, 2)),
			"null [] [null 01000000 02000000]",
		},
		{"run-length booleans", boolean, 10, new(craft).v1(10, format.RLE, format.RLE, sized32(append(repeated(8, 1), packed1(0b01)...)...)), strings.Repeat("01 ", 9) + "00"},
		{"plain booleans", boolean, 10, new(craft).v1(10, format.Plain, format.RLE, []byte{0b01010011, 0b10}), "01 01 00 00 01 00 01 00 00 01"},
		{"nothing but nulls, compressed", optional, 2, (&craft{codec: format.Zstd}).dict(0).v2(2, 2, format.RLEDictionary, nil, repeated(2, 0)), "null null"},
		{"v2 with nulls, compressed", optional, 3, (&craft{codec: format.Snappy}).v2(3, 3, format.Plain, nil, packed1(0b101), le32(5, 6)), "05000000 null 06000000"},
		{"index pages between", required, 2, new(craft).v1(1, format.Plain, format.RLE, le32(1)).add(format.PageHeader{Type: format.IndexPage, IndexPageHeader: thrift.New(format.IndexPageHeader{})}, nil, nil).
			v1(1, format.Plain, format.RLE, le32(2)), "01000000 02000000"},
		{"a row of no columns", required, 0, new(craft), ""},

		{"too few values", required, 2, new(craft).v1(2, format.Plain, format.RLE, le32(1)), "too few values"},
		{"too few rows", required, 3, new(craft).v1(2, format.Plain, format.RLE, le32(1, 2)), "corrupt column chunk"},
		{"too many rows", list, 1, new(craft).v1(3, format.Plain, format.RLE, sized32(repeated(3, 0)...), sized32(repeated(3, 2)...), le32(1, 2, 3)), "corrupt levels: more rows"},
		{"an empty list goes on", list, 1, new(craft).v1(2, format.Plain, format.RLE, sized32(packed1(0b10)...), sized32(packed2(1, 2)...), le32(1)), "corrupt levels: an empty list goes on"},
		{"the first row goes on", list, 1, new(craft).v1(1, format.Plain, format.RLE, sized32(repeated(1, 1)...), sized32(repeated(1, 2)...), le32(1)), "corrupt levels: the first page begins inside of a row"},
		{"a level too great", nullItems, 1, new(craft).v1(1, format.Plain, format.RLE, sized32(repeated(1, 0)...), sized32(repeated(1, 4)...), le32(1)), "corrupt levels: level 4"},
		{"levels longer than the page", optional, 1, new(craft).v1(1, format.Plain, format.RLE, le32(1000)), "corrupt levels"},
		{"a code too great", required, 1, new(craft).dict(1, le32(7)).v1(1, format.RLEDictionary, format.RLE, codes8(1, repeated(1, 1)...)), "corrupt column chunk: a code beyond"},
		{"packed codes too great", text, 9, new(craft).dict(2, plainText("a", "b")).v1(9, format.RLEDictionary, format.RLE, codes8(8, 5, 0, 1, 1, 1, 1, 1, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0)), "corrupt column chunk: a code beyond"},
		{"no dictionary", required, 1, new(craft).v1(1, format.RLEDictionary, format.RLE, codes8(1, repeated(1, 0)...)), "corrupt column chunk: a dictionary is used but missing"},
		{"codes of 33 bits", required, 1, new(craft).dict(1, le32(7)).v1(1, format.RLEDictionary, format.RLE, []byte{33, 2, 0, 0, 0, 0, 0}), "corrupt column chunk: codes of 33 bits"},
		{"a dictionary too many", required, 1, new(craft).dict(1, le32(7)).dict(1, le32(7)).v1(1, format.Plain, format.RLE, le32(1)), "corrupt column chunk: a dictionary page behind others"},
		{"a dictionary that lies", text, 1, new(craft).dict(1<<30).v1(1, format.RLEDictionary, format.RLE, codes8(1, repeated(1, 0)...)), "corrupt column chunk: a dictionary of"},
		{"values beyond the page", text, 1, new(craft).v1(1, format.Plain, format.RLE, le32(50)), "too few values in the page: a value of 50 bytes"},
		{"an encoding for others", required, 1, new(craft).v1(1, format.DeltaLengthByteArray, format.RLE, le32(50)), "encoding is not supported here"},
		{"a codec that is not supported", required, 1, &craft{codec: format.LZO}, "codec LZO is not supported"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := decodeCrafted(c.n, c.rows, Layout{}, refuseUTF8, c.c.chunk(leafOf(c.n), c.rows))
			var e *Error
			switch {
			case err == nil && got != c.want:
				t.Errorf("got %s, want %s", got, c.want)
			case err != nil && (!errors.As(err, &e) || e.Column != "c" || !strings.HasPrefix(e.Err.Error(), c.want) || c.want == ""):
				t.Errorf("got error %v, want %q", err, c.want)
			}
		})
	}
}

// packed2 is one packed run of values of two bits.
func packed2(vs ...byte) []byte {
	b := make([]byte, 3)
	b[0] = 3
	for i, v := range vs {
		b[1+i/4] |= v << (i % 4 * 2)
	}
	return b
}
