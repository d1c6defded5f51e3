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
	want := &Details{
		KeyValues: []KeyValue{{"a", "1"}, {"empty", ""}},
		Groups: []GroupDetails{{
			Sorted: []SortedBy{{1, true}, {0, false}},
			Chunks: []Statistics{
				{Values: 9, Nulls: 2, Min: []byte("a"), Max: []byte("b")},
				{Values: 9, OldMin: []byte("c"), OldMax: []byte("d")},
			},
		}, {}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Whatever the bytes hold, parsing returns details or an error, and no more than the bytes can hold.
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
		total := len(d.KeyValues) + len(d.Groups)
		for _, g := range d.Groups {
			total += len(g.Chunks) + len(g.Sorted)
		}
		if total > len(b) {
			t.Errorf("%d details in %d bytes", total, len(b))
		}
	})
}
