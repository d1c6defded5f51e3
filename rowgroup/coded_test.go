package rowgroup

import (
	"fmt"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
)

// fallenFile is a file of one column whose writer gave up its dictionary: pages of 10 rows, the
// first coded of them dictionary-encoded, and those of more. stats is what its encoding statistics
// say is coded; below 0 there are none. Row i holds i.
func fallenFile(t *testing.T, pages, coded, stats int, more ...int) []byte {
	t.Helper()
	isCoded := func(p int) bool {
		for _, m := range more {
			if p == m {
				return true
			}
		}
		return p < coded
	}
	all := make([]int32, 0, 10*pages)
	for i := range 10 * pages {
		all = append(all, int32(i))
	}
	b := []byte("PAR1")
	c := new(craft).dict(len(all), le32(all...))
	first := len(c.pages)
	var index format.OffsetIndex
	for p := range pages {
		from := len(c.pages)
		if isCoded(p) {
			codes := []byte{byte(2<<1 | 1)} // two packed groups of eight codes of sixteen bits
			for i := range 16 {
				codes = append(codes, byte(10*p+min(i, 9)), byte((10*p+min(i, 9))>>8))
			}
			c.v1(10, format.RLEDictionary, format.RLE, codes8(16, codes...))
		} else {
			c.v1(10, format.Plain, format.RLE, le32(all[10*p:10*p+10]...))
		}
		index.PageLocations = append(index.PageLocations, format.PageLocation{
			Offset: int64(len(b) + from), CompressedPageSize: int32(len(c.pages) - from), FirstRowIndex: int64(10 * p),
		})
	}
	b = append(b, c.pages...)
	at := len(b)
	x, err := thrift.Marshal(new(thrift.CompactProtocol), &index)
	if err != nil {
		t.Fatal(err)
	}
	b = append(b, x...)
	m := format.ColumnMetaData{
		Type: format.Int32, NumValues: int64(len(all)), TotalCompressedSize: int64(len(c.pages)), TotalUncompressedSize: int64(c.size),
		DictionaryPageOffset: 4, DataPageOffset: int64(4 + first), Codec: format.Uncompressed,
		Encoding: []format.Encoding{format.Plain, format.RLE, format.RLEDictionary},
	}
	if stats >= 0 {
		m.EncodingStats = []format.PageEncodingStats{
			{PageType: format.DictionaryPage, Encoding: format.Plain, Count: 1},
			{PageType: format.DataPage, Encoding: format.RLEDictionary, Count: int32(stats)},
			{PageType: format.DataPage, Encoding: format.Plain, Count: int32(pages - stats)},
		}
	}
	rows := int64(len(all))
	return filetest.AppendFooter(t, b, &format.FileMetaData{
		Version: 1, Schema: filetest.Schema(t, `required int32 a;`), NumRows: rows,
		RowGroups: []format.RowGroup{{NumRows: rows, TotalByteSize: int64(c.size), Columns: []format.ColumnChunk{{
			MetaData: m, OffsetIndexOffset: int64(at), OffsetIndexLength: int32(len(x)),
		}}}},
	})
}

// Slices behind the pages that need the dictionary neither fetch nor count it, unless nothing says
// which those are, or they need it all the same.
func TestSlicesWithoutDictionary(t *testing.T) {
	const pages = 40
	edges := []int64{100, 205, 300}
	for _, c := range []struct {
		name   string
		stats  int
		more   []int
		slices int // that fetch the dictionary
		counts int // that are taken to need it
	}{
		{"first two slices", 11, nil, 2, 2},
		{"up to an edge", 10, nil, 1, 1},
		{"into the page at an edge", 21, nil, 3, 3},
		{"none", 0, nil, 0, 0},
		{"all", pages, nil, 4, 4},
		{"unknown", -1, nil, 4, 4},
		{"statistics that lie", 10, []int{25}, 2, 1},
		{"statistics of too many pages", pages + 7, nil, 4, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := fallenFile(t, pages, max(0, min(c.stats, pages)), c.stats, c.more...)
			for _, views := range []bool{true, false} {
				store, shards := putFiles(t, map[string][]byte{"a.parquet": file})
				m, err := Open(t.Context(), &recordingStore{Store: store, noViews: !views}, shards, Options{})
				if err != nil {
					t.Fatal(err)
				}
				r, _ := m.groupRecord(0)
				dict, with, at := r.Dict.At(0), 0, int64(0)
				for _, e := range append(edges[:3:3], 10*pages) {
					u := Rows{Lo: at, Hi: e}
					raw := fetch(t, m, u)
					if n := int64(len(raw.chunks[0].dict)); n == dict {
						with++
					} else if n != 0 {
						t.Errorf("a dictionary of %d bytes", n)
					}
					var want strings.Builder
					for i := at; i < e; i++ {
						fmt.Fprintf(&want, "%02x%02x0000", i&255, i>>8)
					}
					if got := rowsOf(t, m, u); got != want.String() {
						t.Errorf("%v: rows %.100s", u, got)
					}
					raw.Release()
					at = e
				}
				if with != c.slices {
					t.Errorf("%d slices have the dictionary, want %d", with, c.slices)
				}
				// The first slice has what comes before the pages in any case; the page at 205 is
				// decoded twice.
				whole, across := m.SlicedBytes(0, nil), r.PageSize.At(20)
				once := r.Compressed.At(0)
				if got, want := m.SlicedBytes(0, edges), mem.MulDiv(whole, once+across+dict*int64(max(0, c.counts-1)), once); got != want {
					t.Errorf("%d bytes in slices of %d, want %d", got, whole, want)
				}
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
