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

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
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
func footerOf(t testing.TB, b []byte) (*parquet.Footer, error) {
	t.Helper()
	store, shards := putFiles(t, map[string][]byte{"f.parquet": b})
	return footer.Read(context.Background(), store, shards[0])
}

func TestFooter(t *testing.T) {
	f, err := footerOf(t, filetest.File{Schema: `required int32 a; optional binary b (UTF8);`, Rows: []int{10, 0, 5}}.Bytes(t))
	if err != nil {
		t.Fatal(err)
	}
	if f.Rows != 15 || len(f.Groups) != 3 || f.Groups[1].Rows != 0 || f.Groups[0].Bytes != 500 || f.CreatedBy != "test version 1" {
		t.Errorf("footer is %+v", f)
	}
	b := f.Chunks[3] // column b of row group 1
	if b.Start != 4+300 || b.Dict != 40 || b.Compressed != 100 || b.Uncompressed != 300 || b.Codec != 1 || b.Encodings != 1|1<<3|1<<8 {
		t.Errorf("chunk is %+v", b)
	}
	if a := f.Chunks[0]; a.Start != 4 || a.Dict != 0 {
		t.Errorf("chunk is %+v", a)
	}
}

// A footer larger than the first read takes a second one.
func TestFooterLarge(t *testing.T) {
	wide := strings.Repeat(`required double a_rather_long_name_of_a_column;`, 2000)
	f, err := footerOf(t, filetest.File{Schema: wide, Rows: []int{1}}.Bytes(t))
	if err != nil || f.Bytes < 64<<10 || len(f.Chunks) != 2000 {
		t.Errorf("footer %v, error %v", f, err)
	}
}

func TestFooterErrors(t *testing.T) {
	good := filetest.File{Schema: `required int32 a; optional binary b (UTF8);`, Rows: []int{10, 5}}
	change := func(f func(m *format.FileMetaData)) []byte {
		g := good
		g.Meta = f
		return g.Bytes(t)
	}
	chunk := func(f func(c *format.ColumnChunk)) []byte {
		return change(func(m *format.FileMetaData) { f(&m.RowGroups[1].Columns[1]) })
	}
	tail := func(s string) []byte {
		b := good.Bytes(t)
		return append(b[:len(b)-len(s):len(b)-len(s)], s...)
	}
	length := func(n uint32) []byte {
		b := good.Bytes(t)
		binary.LittleEndian.PutUint32(b[len(b)-8:], n)
		return b
	}
	for _, c := range []struct {
		name string
		file []byte
		want string
		is   error
	}{
		{"empty", nil, "the file is empty", ErrNotParquet},
		{"short", []byte("PAR1PAR1"), "8 bytes are too few", ErrNotParquet},
		{"text", bytes.Repeat([]byte("hello\n"), 10), `it ends in "llo\n", not in "PAR1"`, ErrNotParquet},
		{"encrypted footer", tail("PARE"), "its footer is encrypted", ErrEncrypted},
		{"length zero", length(0), "its length is 0 in a file of", parquet.ErrFooter},
		{"length over the file", length(1 << 31), "its length is 2147483648 in a file of", parquet.ErrFooter},
		{"length too small", length(20), "corrupt footer", parquet.ErrFooter},
		{"cut", good.Bytes(t)[:200], "not in \"PAR1\"", ErrNotParquet},
		{"no schema", change(func(m *format.FileMetaData) { m.Schema = nil }), "no schema", parquet.ErrFooter},
		{"negative children", change(func(m *format.FileMetaData) { m.Schema[0].NumChildren = thrift.New(int32(-1)) }), "-1 children", parquet.ErrFooter},
		{"children lacking", change(func(m *format.FileMetaData) { m.Schema[0].NumChildren = thrift.New(int32(3)) }), "lacks children", parquet.ErrFooter},
		{"children over", change(func(m *format.FileMetaData) { m.Schema[0].NumChildren = thrift.New(int32(1)) }), "its tree uses only 2", parquet.ErrFooter},
		{"bad repetition", change(func(m *format.FileMetaData) {
			m.Schema[1].RepetitionType = thrift.New(format.FieldRepetitionType(7))
		}), "repetition 7", parquet.ErrFooter},
		{"bad type", change(func(m *format.FileMetaData) { m.Schema[1].Type = thrift.New(format.Type(9)) }), "physical type 9", parquet.ErrFooter},
		{"rows differ", change(func(m *format.FileMetaData) { m.NumRows = 16 }), "its row groups hold 15 rows, the file 16", parquet.ErrFooter},
		{"negative rows", change(func(m *format.FileMetaData) { m.RowGroups[0].NumRows = -1 }), "row group 0 has -1 rows", parquet.ErrFooter},
		{"chunk lacking", change(func(m *format.FileMetaData) { m.RowGroups[0].Columns = m.RowGroups[0].Columns[:1] }), "3 column chunks in 2 row groups of 2 columns", parquet.ErrFooter},
		{"chunk's type", chunk(func(c *format.ColumnChunk) { c.MetaData.Type = format.Int64 }), "row group 1, column 1 (b): physical type 2 in the chunk, 6 in the schema", parquet.ErrFooter},
		{"chunk before the data", chunk(func(c *format.ColumnChunk) { c.MetaData.DictionaryPageOffset = 1 }), "row group 1, column 1 (b): bytes 1 to 101", parquet.ErrFooter},
		{"chunk past the data", chunk(func(c *format.ColumnChunk) { c.MetaData.TotalCompressedSize = 1000 }), "are not in the file's data", parquet.ErrFooter},
		{"chunk at infinity", chunk(func(c *format.ColumnChunk) {
			c.MetaData.DataPageOffset, c.MetaData.DictionaryPageOffset = 1<<62, 0
		}), "are not in the file's data", parquet.ErrFooter},
		{"negative size", chunk(func(c *format.ColumnChunk) { c.MetaData.TotalUncompressedSize = -1 }), "a negative size", parquet.ErrFooter},
		{"huge size", chunk(func(c *format.ColumnChunk) { c.MetaData.TotalUncompressedSize = 1 << 50 }), "1125899906842624 bytes uncompressed", parquet.ErrFooter},
		{"no bytes", chunk(func(c *format.ColumnChunk) { c.MetaData.TotalCompressedSize, c.MetaData.DictionaryPageOffset = 0, 0 }), "no bytes", parquet.ErrFooter},
		{"values lacking", chunk(func(c *format.ColumnChunk) { c.MetaData.NumValues = 4 }), "4 values in 5 rows", parquet.ErrFooter},
		{"values over", chunk(func(c *format.ColumnChunk) { c.MetaData.NumValues = 6 }), "6 values in 5 rows", parquet.ErrFooter},
		{"offset index outside", chunk(func(c *format.ColumnChunk) { c.OffsetIndexOffset, c.OffsetIndexLength = 1<<40, 10 }), "offset index at byte", parquet.ErrFooter},
		{"no metadata", chunk(func(c *format.ColumnChunk) { c.MetaData = format.ColumnMetaData{} }), "physical type -1 in the chunk, 6", parquet.ErrFooter},
		{"position deletes", change(func(m *format.FileMetaData) { m.Schema[1].FieldID = 2147483546 }), "Iceberg delete file", parquet.ErrDeletes},
		{"positions", change(func(m *format.FileMetaData) { m.Schema[2].FieldID = 2147483545 }), "Iceberg delete file", parquet.ErrDeletes},
		{"equality deletes", change(func(m *format.FileMetaData) {
			m.KeyValueMetadata = append(m.KeyValueMetadata, format.KeyValue{Key: "delete-type", Value: "equality"})
		}), "name its data files alone", parquet.ErrDeletes},
		{"another file", chunk(func(c *format.ColumnChunk) { c.FilePath = "part-1.parquet" }), `column chunk 1: its data is in another file, "part-1.parquet"`, nil},
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
