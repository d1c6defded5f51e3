package parquet

import (
	"reflect"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// detailed is a footer with all details.
func detailed(t testing.TB) []byte {
	t.Helper()
	chunk := func(s format.Statistics) format.ColumnChunk {
		return format.ColumnChunk{MetaData: format.ColumnMetaData{NumValues: 9, Statistics: s}}
	}
	b, err := thrift.Marshal(new(thrift.CompactProtocol), &format.FileMetaData{
		Schema:           []format.SchemaElement{{Name: "root"}},
		KeyValueMetadata: []format.KeyValue{{Key: "a", Value: "1"}, {Key: "empty"}},
		RowGroups: []format.RowGroup{{
			Columns: []format.ColumnChunk{
				chunk(format.Statistics{NullCount: 2, MinValue: []byte("a"), MaxValue: []byte("b")}),
				chunk(format.Statistics{Min: []byte("c"), Max: []byte("d")}),
			},
			SortingColumns: []format.SortingColumn{{ColumnIdx: 1, Descending: true, NullsFirst: true}, {ColumnIdx: 0}},
		}, {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDetails(t *testing.T) {
	got, err := ParseDetails(detailed(t))
	if err != nil {
		t.Fatal(err)
	}
	if want := []KeyValue{{"a", "1"}, {"empty", ""}}; !reflect.DeepEqual(got.KeyValues, want) {
		t.Errorf("got %+v, want %+v", got.KeyValues, want)
	}
	want := []GroupDetails{{
		Sorted: []SortedBy{{1, true}, {0, false}},
		Chunks: []Statistics{
			{Values: 9, Nulls: 2, Min: []byte("a"), Max: []byte("b")},
			{Values: 9, OldMin: []byte("c"), OldMax: []byte("d")},
		},
	}, {Sorted: []SortedBy{}, Chunks: []Statistics{}}}
	for _, g := range []int{1, 0, 1, 0} {
		if d := got.Group(g); !reflect.DeepEqual(d, &want[g]) {
			t.Errorf("row group %d: got %+v, want %+v", g, d, want[g])
		}
	}
	if got.Groups() != 2 || got.Leaves != -1 {
		t.Errorf("%d row groups of %d leaves, want 2 that differ", got.Groups(), got.Leaves)
	}
}

// Whatever the bytes hold, parsing returns details or an error, and no more than the bytes can
// hold.
func FuzzDetails(f *testing.F) {
	b := detailed(f)
	f.Add(b)
	for n := range len(b) {
		f.Add(b[:n])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := ParseDetails(b)
		if err != nil {
			return
		}
		total := len(d.KeyValues) + d.Groups()
		for i := range d.Groups() {
			g := d.Group(i)
			total += len(g.Chunks) + len(g.Sorted)
		}
		if total > len(b) {
			t.Errorf("%d details in %d bytes", total, len(b))
		}
	})
}

// Column orders, column indexes and bloom filters, as parquet-go writes them.
func TestDetailsOfPages(t *testing.T) {
	b, err := thrift.Marshal(new(thrift.CompactProtocol), &format.FileMetaData{
		Schema:       []format.SchemaElement{{Name: "root"}},
		ColumnOrders: []format.ColumnOrder{{Value: &format.TypeDefinedOrder{}}, {}},
		RowGroups: []format.RowGroup{{Columns: []format.ColumnChunk{{
			ColumnIndexOffset: 7, ColumnIndexLength: 8,
			MetaData: format.ColumnMetaData{BloomFilterOffset: 9, BloomFilterLength: 10},
		}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := ParseDetails(b)
	if err != nil {
		t.Fatal(err)
	}
	if want := []bool{true, false}; !reflect.DeepEqual(d.Ordered, want) {
		t.Errorf("orders are %v, want %v", d.Ordered, want)
	}
	if c := d.Group(0).Chunks[0]; c.ColumnIndex != (Place{7, 8}) || c.Bloom != (Place{9, 10}) {
		t.Errorf("got %+v", c)
	}
}

func columnIndex(t testing.TB) []byte {
	t.Helper()
	b, err := thrift.Marshal(new(thrift.CompactProtocol), &format.ColumnIndex{
		NullPages: thrift.Slice[bool]{false, true}, MinValues: thrift.Slice[[]byte]{{1}, {}}, MaxValues: thrift.Slice[[]byte]{{2}, {}},
		NullCounts: thrift.Slice[int64]{3, 4},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParseColumnIndex(t *testing.T) {
	b := columnIndex(t)
	got, err := ParseColumnIndex(b, 2)
	if err != nil {
		t.Fatal(err)
	}
	want := []PageStatistics{{Nulls: 3, Min: []byte{1}, Max: []byte{2}}, {AllNull: true, Nulls: 4, Min: []byte{}, Max: []byte{}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, pages := range []int{0, 1, 3, 1 << 40} {
		if _, err := ParseColumnIndex(b, pages); err == nil {
			t.Errorf("no error for %d pages", pages)
		}
	}
}

// Whatever the bytes hold, parsing returns statistics of all pages or an error.
func FuzzColumnIndex(f *testing.F) {
	b := columnIndex(f)
	for n := range len(b) + 1 {
		f.Add(b[:n], 2)
	}
	f.Fuzz(func(t *testing.T, b []byte, pages int) {
		if pages < 0 {
			return
		}
		if all, err := ParseColumnIndex(b, pages); err == nil && len(all) != pages {
			t.Errorf("%d pages of %d", len(all), pages)
		}
	})
}
