package rowgroup

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	parquetgo "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
)

// patchFooter rewrites the footer of a file.
func patchFooter(t testing.TB, file []byte, patch func(m *format.FileMetaData)) []byte {
	t.Helper()
	data, footer := cutFooter(file)
	var m format.FileMetaData
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), footer, &m); err != nil {
		t.Fatal(err)
	}
	patch(&m)
	return filetest.AppendFooter(t, bytes.Clone(data), &m)
}

func cutFooter(file []byte) (data, footer []byte) {
	at := len(file) - parquet.TailBytes - footerSize(file)
	return file[:at], file[at : len(file)-parquet.TailBytes]
}

func noSizes(m *format.FileMetaData) {
	for i := range m.RowGroups {
		m.RowGroups[i].TotalByteSize = 0
		for k := range m.RowGroups[i].Columns {
			m.RowGroups[i].Columns[k].MetaData.TotalUncompressedSize = 0
		}
	}
}

// compressedSizes are the footers of writers in JavaScript.
func compressedSizes(m *format.FileMetaData) {
	for i := range m.RowGroups {
		for k := range m.RowGroups[i].Columns {
			c := &m.RowGroups[i].Columns[k].MetaData
			c.TotalUncompressedSize, c.SizeStatistics = c.TotalCompressedSize, format.SizeStatistics{}
		}
	}
}

// shortChunks are the footers of parquet-mr 1.2.8, whose chunks lack the dictionary's header.
func shortChunks(m *format.FileMetaData) {
	m.CreatedBy = "parquet-mr version 1.2.8 (build 1234)"
	for i := range m.RowGroups {
		for k := range m.RowGroups[i].Columns {
			if c := &m.RowGroups[i].Columns[k].MetaData; c.DictionaryPageOffset > 0 {
				c.TotalCompressedSize -= 14
			}
		}
	}
}

// Footers that leave out facts which other parts of the file hold are read like complete ones.
func TestFootersOfOtherWriters(t *testing.T) {
	type row struct {
		ID    int64
		Label string  `parquet:",dict"`
		Long  string  `parquet:",snappy"`
		Maybe *int32  `parquet:",optional,zstd"`
		Plain float64 `parquet:",uncompressed"`
	}
	rows := make([]row, 3000)
	for i := range rows {
		rows[i] = row{ID: int64(i), Label: strings.Repeat("x", i%5), Long: strings.Repeat("long", i%700), Plain: float64(i)}
	}
	rows[0].Long = strings.Repeat("a value that statistics repeat ", 9000) // in headers of over headerWindow
	file := writeRows(t, [][]row{rows[:2000], rows[2000:]}, parquetgo.Compression(&parquetgo.Gzip), parquetgo.PageBufferSize(8<<10), parquetgo.DataPageStatistics(true))
	want := openBytes(t, Options{}, map[string][]byte{"a.parquet": file})
	for name, patch := range map[string]func(m *format.FileMetaData){
		"sizes of 0":       noSizes,
		"compressed sizes": compressedSizes,
		"short chunks":     shortChunks,
		"no rows":          func(m *format.FileMetaData) { m.NumRows = 0 },
		"a root with a type": func(m *format.FileMetaData) {
			m.Schema[0].Type = thrift.New(format.Boolean)
		},
		"a repeated root": func(m *format.FileMetaData) {
			m.Schema[0].RepetitionType = thrift.New(format.Repeated)
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := openBytes(t, Options{}, map[string][]byte{"a.parquet": patchFooter(t, file, patch)})
			same := func(a, b Group) bool { // except what is read behind short chunks
				a.Compressed, b.Compressed = 0, 0
				return a == b
			}
			if m.NumRows() != want.NumRows() || !slices.EqualFunc(m.Groups(), want.Groups(), same) {
				t.Fatalf("groups %+v, want %+v", m.Groups(), want.Groups())
			}
			for g, group := range m.Groups() {
				u := Rows{RowGroup: g, Hi: group.Rows}
				if rowsOf(t, m, u) != rowsOf(t, want, u) {
					t.Errorf("group %d has other rows", g)
				}
				if a, _ := m.DecodedBytes(g); a == 0 {
					t.Error("no size")
				}
			}
		})
	}
}

// A footer without sizes does not lift their bounds: what page headers say is foretold, and headers
// that lie, or chunks that overlap, are errors of the decoder.
func TestSizesOfPageHeaders(t *testing.T) {
	k := (&craft{codec: format.Snappy}).v1(4, format.Plain, format.RLE, le32(1, 2, 3, 4))
	schema := `required int32 a;`
	file := craftFile(t, schema, 4, k)
	whole := openBytes(t, Options{}, map[string][]byte{"a.parquet": patchFooter(t, file, noSizes)})
	if got := whole.Groups()[0].Bytes; got != int64(k.size) {
		t.Errorf("%d bytes by the page headers, want %d", got, k.size)
	}
	h := format.PageHeader{
		Type: format.DataPage, UncompressedPageSize: math.MaxInt32 - 64, CompressedPageSize: 3,
		DataPageHeader: thrift.New(format.DataPageHeader{NumValues: 4}),
	}
	head, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
	if err != nil {
		t.Fatal(err)
	}
	liar := &craft{codec: format.Snappy, pages: append(head, 1, 2, 3), values: 4, size: 1}
	m := openBytes(t, Options{}, map[string][]byte{"a.parquet": patchFooter(t, craftFile(t, schema, 4, liar), noSizes)})
	if got := m.Groups()[0].Bytes; got < math.MaxInt32-64 {
		t.Errorf("a page that claims %d bytes is foretold as %d", h.UncompressedPageSize, got)
	}

	cut := &craft{codec: format.Snappy, pages: []byte{0xff, 0xff, 0xff}, values: 4, size: 1}
	m = openBytes(t, Options{}, map[string][]byte{"a.parquet": patchFooter(t, craftFile(t, schema, 4, cut), noSizes)})
	d := m.NewDecoder()
	defer d.Close()
	_, err = d.Decode(fetch(t, m, Rows{Hi: 4}), Layout{})
	if e := (*Error)(nil); !errors.As(err, &e) || e.Column != "a" || !errors.Is(err, parquet.ErrHeader) {
		t.Errorf("a chunk without pages: %v", err)
	}
}

// Chunks of a footer without sizes that all name the same bytes are walked no further than the file
// is long.
func TestOverlappingChunksWithoutSizes(t *testing.T) {
	const columns = 500
	k := &craft{codec: format.Snappy}
	for range 400 {
		k.v1(1, format.Plain, format.RLE, le32(1))
	}
	file := craftFile(t, strings.Repeat(`required int32 a; `, columns), 400, slices.Repeat([]*craft{k}, columns)...)
	data, _ := cutFooter(file)
	store, shards := putFiles(t, map[string][]byte{"a.parquet": patchFooter(t, file, func(m *format.FileMetaData) {
		noSizes(m)
		for i := range m.RowGroups[0].Columns {
			m.RowGroups[0].Columns[i].MetaData.DataPageOffset = 4
			m.RowGroups[0].Columns[i].MetaData.TotalCompressedSize = int64(len(data) - 4)
		}
	})})
	f, err := footer.Read(context.Background(), store, shards[0])
	if err != nil {
		t.Fatal(err)
	}
	if f.Chunks[0].Uncompressed == 0 || f.Chunks[columns-1].Uncompressed != 0 {
		t.Errorf("%d bytes of the first chunk, %d of the last", f.Chunks[0].Uncompressed, f.Chunks[columns-1].Uncompressed)
	}
}
