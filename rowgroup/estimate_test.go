package rowgroup

import (
	"context"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
)

func TestDecodedBytes(t *testing.T) {
	size := func(uncompressed int64, more func(c *format.ColumnMetaData)) func(m *format.FileMetaData) {
		return func(m *format.FileMetaData) {
			for i := range m.RowGroups[0].Columns {
				c := &m.RowGroups[0].Columns[i].MetaData
				c.TotalUncompressedSize = uncompressed
				if more != nil {
					more(c)
				}
			}
		}
	}
	for _, c := range []struct {
		name               string
		file               filetest.File
		narrow, wide, over int64 // bounds: at least these, and at most over times
	}{
		{"int64", filetest.File{Schema: `required int64 a;`, Meta: size(8000, nil)}, 8000, 0, 2},
		{"nullable int8", filetest.File{Schema: `optional int32 a (INT_8);`, Meta: size(4000, nil)}, 1000 + 125, 0, 2},
		{"strings", filetest.File{Schema: `optional binary a (UTF8);`, Meta: size(30_000, nil)}, 38_000, 0, 2},
		{"images", filetest.File{Schema: `required binary a; required int64 b;`, Meta: size(10_000_000, nil)}, 16_000, 10_000_000, 2},
		{"images in a dictionary", filetest.File{Schema: `required binary a;`, Meta: size(10_000_000, func(c *format.ColumnMetaData) {
			c.Encoding = []format.Encoding{format.RLE, format.RLEDictionary}
			c.EncodingStats = []format.PageEncodingStats{{PageType: format.DataPage, Encoding: format.RLEDictionary, Count: 1}}
		})}, 10_008_000, 0, 2},
		{"images in a dictionary, none twice", filetest.File{Schema: `required binary a; required int64 b;`, Meta: size(10_000_000, func(c *format.ColumnMetaData) {
			c.Encoding = []format.Encoding{format.RLE, format.RLEDictionary}
			c.EncodingStats = []format.PageEncodingStats{{PageType: format.DataPage, Encoding: format.RLEDictionary, Count: 1}}
			c.SizeStatistics.UnencodedByteArrayDataBytes = 10_000_000
		})}, 16_000, 10_000_000, 2},
		{"images in a struct", filetest.File{Schema: `optional group a { optional binary b; optional binary path (UTF8); }`, Meta: size(10_000_000, nil)}, 16_125, 20_000_000, 2},
		{"prefixes", filetest.File{Schema: `required binary a;`, Meta: size(30_000, func(c *format.ColumnMetaData) {
			c.Encoding = []format.Encoding{format.DeltaByteArray}
		})}, 38_000, 0, 5},
		{"prefixes, size known", filetest.File{Schema: `required binary a;`, Meta: size(30_000, func(c *format.ColumnMetaData) {
			c.Encoding = []format.Encoding{format.DeltaByteArray}
			c.SizeStatistics.UnencodedByteArrayDataBytes = 200_000
		})}, 208_000, 0, 2},
		{"list", filetest.File{Schema: `optional group a (LIST) { repeated group list { optional int32 element; } }`, Meta: size(20_000, func(c *format.ColumnMetaData) {
			c.NumValues = 20_000
		})}, 88_000, 0, 2},
		{"embedding", filetest.File{Schema: `optional group a (LIST) { repeated group list { optional float element; } }`, Meta: size(1_024_000, func(c *format.ColumnMetaData) {
			c.NumValues = 256_000
		})}, 0, 1_024_000, 2},
		{"list of structs", filetest.File{Schema: `repeated group a { required int64 x; required int64 y; }`, Meta: size(20_000, func(c *format.ColumnMetaData) {
			c.NumValues = 5000
		})}, 88_000, 0, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.file.Rows = []int{1000}
			m := openBytes(t, Options{}, map[string][]byte{"f.parquet": c.file.Bytes(t)})
			narrow, wide := m.DecodedBytes(0)
			if narrow < c.narrow || wide < c.wide || narrow > c.over*c.narrow+256<<10 || wide > c.over*c.wide {
				t.Errorf("%d narrow and %d wide bytes, want at least %d and %d", narrow, wide, c.narrow, c.wide)
			}
		})
	}
}

func TestDecodedBytesProjected(t *testing.T) {
	f := filetest.File{Schema: `required int64 a; required fixed(600) b; optional int32 c (:UNKNOWN);`, Rows: []int{1000}}
	g := filetest.File{Schema: `required int64 a; required fixed(600) b; optional double c;`, Rows: []int{1000}}
	files := map[string][]byte{"f.parquet": f.Bytes(t), "g.parquet": g.Bytes(t)}
	whole := openBytes(t, Options{}, files)
	if narrow, wide := whole.DecodedBytes(0); wide != 0 || narrow < 616_000 { // values of a fixed length stay together
		t.Errorf("%d narrow, %d wide", narrow, wide)
	}
	one := openBytes(t, Options{Columns: []string{"a"}}, files)
	if narrow, wide := one.DecodedBytes(1); wide != 0 || narrow < 8000 || narrow > 50_000 {
		t.Errorf("%d narrow, %d wide", narrow, wide)
	}
}

// What more rows take is their values: not what every allocation takes beside, nor room for codes.
func TestValueBytes(t *testing.T) {
	coded := func(m *format.FileMetaData) {
		for i := range m.RowGroups[0].Columns {
			c := &m.RowGroups[0].Columns[i].MetaData
			c.Encoding = []format.Encoding{format.RLE, format.RLEDictionary}
			c.EncodingStats = []format.PageEncodingStats{{PageType: format.DataPage, Encoding: format.RLEDictionary, Count: 1}}
		}
	}
	for _, c := range []struct {
		name         string
		file         filetest.File
		rows         []int // of each group
		least, limit int64
	}{
		{"few rows", filetest.File{Schema: `required int64 a; required int32 b;`}, []int{3}, 36, 36},
		{"few rows of codes", filetest.File{Schema: `required int64 a; required int32 b;`, Meta: coded}, []int{3}, 36, 36},
		{"many rows of codes", filetest.File{Schema: `required int64 a; required int32 b;`, Meta: coded}, []int{1000}, 12_000, 12_000},
		{"several groups", filetest.File{Schema: `required int64 a; required int32 b;`}, []int{3, 1000}, 12_036, 12_036},
		{"texts", filetest.File{Schema: `required binary a (UTF8);`}, []int{1000}, 8000, 20_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.file.Rows = c.rows
			m := openBytes(t, Options{}, map[string][]byte{"f.parquet": c.file.Bytes(t)})
			all, rows := int64(0), int64(0)
			for g, group := range m.Groups() {
				narrow, wide := m.DecodedBytes(g)
				all, rows = all+narrow+wide, rows+group.Rows
			}
			decoded, got := m.TotalBytes()
			if decoded != all || got < c.least || got > c.limit || got > max(all, 12*rows) {
				t.Errorf("%d bytes of values, want %d to %d; %d decoded, want %d", got, c.least, c.limit, decoded, all)
			}
		})
	}
}

// The estimate holds for what the decoder makes of real files, and is not far above it.
func TestDecodedBytesBound(t *testing.T) {
	check := func(name string, m *Reader) {
		pool := &mem.Pool{}
		d := newDecoder(pool, false)
		defer d.Close()
		for g, group := range m.Groups() {
			raw := fetch(t, m, Rows{Shard: int(group.Shard), RowGroup: int(group.RowGroup), Hi: group.Rows})
			b, err := d.whole(raw, Layout{})
			if err != nil {
				t.Fatal(err)
			}
			narrow, wide := m.DecodedBytes(g)
			if sum := narrow + wide; sum < b.Bytes() || sum > 3*b.Bytes()/2+128<<10 {
				t.Errorf("%s, group %d: %d bytes are predicted, %d taken", name, g, sum, b.Bytes())
			}
			b.Release()
		}
	}
	store, shards := shopShards(t)
	shop, err := Open(context.Background(), store, shards, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer shop.Close()
	check("shop", shop)
	check("paged", openBytes(t, Options{}, map[string][]byte{"a.parquet": pagedFile(t, 100, 20_000)}))
	check("projected", openBytes(t, Options{Columns: []string{"label", "id"}}, map[string][]byte{"a.parquet": pagedFile(t, 100, 20_000)}))
}
