package rowgroup

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/mem"
)

// putFiles stores files in memory and lists them.
func putFiles(t testing.TB, files map[string][]byte) (shard.Store, []shard.Shard) {
	t.Helper()
	store := &mem.Store{}
	for name, b := range files {
		store.Put("t/"+name, b)
	}
	shards, err := store.List(context.Background(), "mem://t")
	if err != nil {
		t.Fatal(err)
	}
	return store, shards
}

// footerOf reads the footer of a file's bytes.
func footerOf(t testing.TB, b []byte) (*footer, error) {
	t.Helper()
	store, shards := putFiles(t, map[string][]byte{"f.parquet": b})
	return openFooter(context.Background(), store, shards[0], &tailGuess{})
}

func TestFooter(t *testing.T) {
	f, err := footerOf(t, fakeFile{schema: `required int32 a; optional binary b (UTF8);`, rows: []int{10, 0, 5}}.bytes(t))
	if err != nil {
		t.Fatal(err)
	}
	if f.rows != 15 || len(f.groups) != 3 || f.groups[1].rows != 0 || f.groups[0].bytes != 500 || f.createdBy != "test version 1" {
		t.Errorf("footer is %+v", f)
	}
	b := f.chunks[3] // column b of row group 1
	if b.start != 4+300 || b.dict != 40 || b.compressed != 100 || b.uncompressed != 300 || b.codec != 1 || b.encodings != 1|1<<3|1<<8 {
		t.Errorf("chunk is %+v", b)
	}
	if a := f.chunks[0]; a.start != 4 || a.dict != 0 {
		t.Errorf("chunk is %+v", a)
	}
}

// A footer larger than the first read takes a second one.
func TestFooterLarge(t *testing.T) {
	wide := strings.Repeat(`required double a_rather_long_name_of_a_column;`, 2000)
	f, err := footerOf(t, fakeFile{schema: wide, rows: []int{1}}.bytes(t))
	if err != nil || f.bytes < firstTail || len(f.chunks) != 2000 {
		t.Errorf("footer %v, error %v", f, err)
	}
}

func TestFooterErrors(t *testing.T) {
	good := fakeFile{schema: `required int32 a; optional binary b (UTF8);`, rows: []int{10, 5}}
	change := func(f func(m *format.FileMetaData)) []byte {
		g := good
		g.meta = f
		return g.bytes(t)
	}
	chunk := func(f func(c *format.ColumnChunk)) []byte {
		return change(func(m *format.FileMetaData) { f(&m.RowGroups[1].Columns[1]) })
	}
	tail := func(s string) []byte {
		b := good.bytes(t)
		return append(b[:len(b)-len(s):len(b)-len(s)], s...)
	}
	length := func(n uint32) []byte {
		b := good.bytes(t)
		binary.LittleEndian.PutUint32(b[len(b)-8:], n)
		return b
	}
	for _, c := range []struct {
		name string
		file []byte
		want string
		is   error
	}{
		{"empty", nil, "0 bytes are too few", ErrNotParquet},
		{"short", []byte("PAR1PAR1"), "8 bytes are too few", ErrNotParquet},
		{"text", bytes.Repeat([]byte("hello\n"), 10), `it ends in "llo\n", not in "PAR1"`, ErrNotParquet},
		{"encrypted footer", tail("PARE"), "its footer is encrypted", ErrEncrypted},
		{"length zero", length(0), "its length is 0 in a file of", errFooter},
		{"length over the file", length(1 << 31), "its length is 2147483648 in a file of", errFooter},
		{"length too small", length(20), "corrupt footer", errFooter},
		{"cut", good.bytes(t)[:200], "not in \"PAR1\"", ErrNotParquet},
		{"no schema", change(func(m *format.FileMetaData) { m.Schema = nil }), "no schema", errFooter},
		{"negative children", change(func(m *format.FileMetaData) { m.Schema[0].NumChildren = thrift.New(int32(-1)) }), "-1 children", errFooter},
		{"children lacking", change(func(m *format.FileMetaData) { m.Schema[0].NumChildren = thrift.New(int32(3)) }), "lacks children", errFooter},
		{"children over", change(func(m *format.FileMetaData) { m.Schema[0].NumChildren = thrift.New(int32(1)) }), "of which 2 hang together", errFooter},
		{"bad repetition", change(func(m *format.FileMetaData) {
			m.Schema[1].RepetitionType = thrift.New(format.FieldRepetitionType(7))
		}), "repetition 7", errFooter},
		{"bad type", change(func(m *format.FileMetaData) { m.Schema[1].Type = thrift.New(format.Type(9)) }), "physical type 9", errFooter},
		{"rows differ", change(func(m *format.FileMetaData) { m.NumRows = 16 }), "its row groups hold 15 rows, the file 16", errFooter},
		{"negative rows", change(func(m *format.FileMetaData) { m.RowGroups[0].NumRows = -1 }), "row group 0 has -1 rows", errFooter},
		{"chunk lacking", change(func(m *format.FileMetaData) { m.RowGroups[0].Columns = m.RowGroups[0].Columns[:1] }), "3 column chunks in 2 row groups of 2 columns", errFooter},
		{"chunk's type", chunk(func(c *format.ColumnChunk) { c.MetaData.Type = format.Int64 }), "row group 1, column 1 (b): physical type 2 in the chunk, 6 in the schema", errFooter},
		{"chunk before the data", chunk(func(c *format.ColumnChunk) { c.MetaData.DictionaryPageOffset = 1 }), "row group 1, column 1 (b): bytes 1 to 101", errFooter},
		{"chunk past the data", chunk(func(c *format.ColumnChunk) { c.MetaData.TotalCompressedSize = 1000 }), "are not in the file's data", errFooter},
		{"chunk at infinity", chunk(func(c *format.ColumnChunk) {
			c.MetaData.DataPageOffset, c.MetaData.DictionaryPageOffset = 1<<62, 0
		}), "are not in the file's data", errFooter},
		{"negative size", chunk(func(c *format.ColumnChunk) { c.MetaData.TotalUncompressedSize = -1 }), "a negative size", errFooter},
		{"huge size", chunk(func(c *format.ColumnChunk) { c.MetaData.TotalUncompressedSize = 1 << 50 }), "1125899906842624 bytes uncompressed", errFooter},
		{"no bytes", chunk(func(c *format.ColumnChunk) { c.MetaData.TotalCompressedSize, c.MetaData.DictionaryPageOffset = 0, 0 }), "no bytes", errFooter},
		{"values lacking", chunk(func(c *format.ColumnChunk) { c.MetaData.NumValues = 4 }), "4 values in 5 rows", errFooter},
		{"values over", chunk(func(c *format.ColumnChunk) { c.MetaData.NumValues = 6 }), "6 values in 5 rows", errFooter},
		{"offset index outside", chunk(func(c *format.ColumnChunk) { c.OffsetIndexOffset, c.OffsetIndexLength = 1<<40, 10 }), "offset index at byte", errFooter},
		{"no metadata", chunk(func(c *format.ColumnChunk) { c.MetaData = format.ColumnMetaData{} }), "physical type -1 in the chunk, 6", errFooter},
		{"another file", chunk(func(c *format.ColumnChunk) { c.FilePath = "part-1.parquet" }), `column chunk 1: its data lies in another file, "part-1.parquet"`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := footerOf(t, c.file)
			if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("error is %v, want %q", err, c.want)
			}
			if !strings.HasPrefix(err.Error(), "mem://t/f.parquet: ") {
				t.Errorf("error does not begin with the address: %v", err)
			}
		})
	}
}

// Unknown fields of every wire type are skipped, old and new writers' alike.
func TestThriftSkips(t *testing.T) {
	type inner struct {
		A int64             `thrift:"1"`
		L []string          `thrift:"2"`
		M map[string]int32  `thrift:"3"`
		N map[string]string `thrift:"4"`
	}
	type message struct {
		Bool   bool       `thrift:"1"`
		False  bool       `thrift:"2,writezero"`
		Byte   int8       `thrift:"3"`
		I16    int16      `thrift:"4"`
		I32    int32      `thrift:"5"`
		I64    int64      `thrift:"6"`
		Double float64    `thrift:"7"`
		Text   string     `thrift:"8"`
		List   []inner    `thrift:"9"`
		Long   []int32    `thrift:"10"`
		Bools  []bool     `thrift:"11"`
		Lists  [][]string `thrift:"12"`
		Last   int32      `thrift:"200"`
	}
	m := message{
		Bool: true, Byte: -3, I16: 300, I32: -70000, I64: 1 << 60, Double: 1.5, Text: "text", Long: make([]int32, 40), Bools: []bool{true, false},
		Lists: [][]string{{"a"}, nil, {"b", "c"}}, Last: 77,
		List: []inner{{A: 1, L: []string{"x", ""}, M: map[string]int32{"k": 5}}, {}, {N: map[string]string{"a": "b"}}},
	}
	b, err := thrift.Marshal(new(thrift.CompactProtocol), &m)
	if err != nil {
		t.Fatal(err)
	}
	r := &thriftReader{b: b}
	last := int32(0)
	readStruct(r, func(id int16, typ byte) {
		if id == 200 {
			last = r.int32()
		} else {
			r.skip(typ)
		}
	})
	if r.err != nil || last != 77 || r.pos != len(b) {
		t.Errorf("error %v, last field %d, %d of %d bytes", r.err, last, r.pos, len(b))
	}
	for n := range b { // every cut ends in an error
		r := &thriftReader{b: b[:n]}
		readStruct(r, func(_ int16, typ byte) { r.skip(typ) })
		if r.err == nil {
			t.Errorf("no error after %d bytes of %d", n, len(b))
		}
	}
}

func TestThriftDepth(t *testing.T) {
	for depth, ok := range map[int]bool{thriftMaxDepth - 1: true, 100: false, 1 << 20: false} {
		r := &thriftReader{b: append(bytes.Repeat([]byte{0x1c}, depth), make([]byte, depth+1)...)} // field 1, struct, again and again
		readStruct(r, func(_ int16, typ byte) { r.skip(typ) })
		if (r.err == nil) != ok {
			t.Errorf("structs nested %d deep: error %v", depth, r.err)
		}
	}
}
