package inspect

import (
	"encoding/binary"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// stated are the statistics of a chunk of 10 values.
func stated(nulls int64, lo, hi []byte) *parquet.Statistics {
	return &parquet.Statistics{Values: 10, Nulls: nulls, Min: lo, Max: hi}
}

func u32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
func u64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

func TestBounds(t *testing.T) {
	minus := ^uint32(0)
	for _, c := range []struct {
		name     string
		leaf     rowgroup.Leaf
		chunks   []*parquet.Statistics
		min, max string
		nulls    int64 // -1: not known
	}{
		{"int32", rowgroup.Leaf{Type: "int32", Physical: format.Int32}, []*parquet.Statistics{stated(1, u32(5), u32(7)), stated(2, u32(minus), u32(6))}, "-1", "7", 3},
		{"uint32", rowgroup.Leaf{Type: "uint32", Physical: format.Int32}, []*parquet.Statistics{stated(0, u32(5), u32(minus)), stated(0, u32(4), u32(6))}, "4", "4294967295", 0},
		{"int8", rowgroup.Leaf{Type: "int8", Physical: format.Int32}, []*parquet.Statistics{stated(0, u32(minus), u32(1))}, "-1", "1", 0},
		{"int64", rowgroup.Leaf{Type: "int64", Physical: format.Int64}, []*parquet.Statistics{stated(0, u64(^uint64(0)), u64(1))}, "-1", "1", 0},
		{"bool", rowgroup.Leaf{Type: "bool", Physical: format.Boolean}, []*parquet.Statistics{stated(0, []byte{0}, []byte{1})}, "false", "true", 0},
		{"double", rowgroup.Leaf{Type: "double", Physical: format.Double}, []*parquet.Statistics{stated(0, u64(0xbff8000000000000), u64(0x3ff8000000000000))}, "-1.5", "1.5", 0},
		{"date", rowgroup.Leaf{Type: "date", Physical: format.Int32}, []*parquet.Statistics{stated(0, u32(minus), u32(1))}, `"1969-12-31"`, `"1970-01-02"`, 0},
		{"timestamp", rowgroup.Leaf{Type: "timestamp(us, UTC)", Physical: format.Int64}, []*parquet.Statistics{stated(0, u64(0), u64(1))}, `"1970-01-01T00:00:00.000000Z"`, `"1970-01-01T00:00:00.000001Z"`, 0},
		{"time in 32 bits", rowgroup.Leaf{Type: "time(ms, local)", Physical: format.Int32}, []*parquet.Statistics{stated(0, u32(1), u32(2))}, `"00:00:00.001"`, `"00:00:00.002"`, 0},
		{"decimal in 32 bits", rowgroup.Leaf{Type: "decimal(9,2)", Physical: format.Int32}, []*parquet.Statistics{stated(0, u32(minus), u32(150))}, `"-0.01"`, `"1.50"`, 0},
		{"decimal in bytes", rowgroup.Leaf{Type: "decimal(30,1)", Physical: format.FixedLenByteArray}, []*parquet.Statistics{stated(0, []byte{0}, []byte{1}), stated(0, []byte{0xff}, []byte{0})}, `"-0.1"`, `"0.1"`, 0},
		{"text", rowgroup.Leaf{Type: "string", Physical: format.ByteArray}, []*parquet.Statistics{stated(0, []byte("b"), []byte("\u8a9e"))}, `"b"`, `"語"`, 0},
		{"binary", rowgroup.Leaf{Type: "binary", Physical: format.ByteArray}, []*parquet.Statistics{stated(0, []byte{0}, []byte{255})}, `"AA=="`, `"/w=="`, 0},
		{"no order", rowgroup.Leaf{Type: "int96", Physical: format.Int96}, []*parquet.Statistics{stated(0, make([]byte, 12), make([]byte, 12))}, "", "", 0},
		{"a chunk without bounds", rowgroup.Leaf{Type: "int32", Physical: format.Int32}, []*parquet.Statistics{stated(0, u32(1), u32(2)), stated(0, nil, nil)}, "", "", 0},
		{"a chunk without nulls", rowgroup.Leaf{Type: "int32", Physical: format.Int32}, []*parquet.Statistics{stated(-1, u32(1), u32(2)), stated(0, u32(1), u32(2))}, "1", "2", -1},
		{"a chunk of nulls", rowgroup.Leaf{Type: "int32", Physical: format.Int32}, []*parquet.Statistics{stated(10, nil, nil), stated(0, u32(1), u32(2))}, "1", "2", 10},
		{"a bound of another width", rowgroup.Leaf{Type: "int32", Physical: format.Int32}, []*parquet.Statistics{stated(0, u64(1), u64(2))}, "", "", 0},
		{"the older form of a signed number", rowgroup.Leaf{Type: "int32", Physical: format.Int32}, []*parquet.Statistics{{Values: 1, OldMin: u32(1), OldMax: u32(2)}}, "1", "2", 0},
		{"the older form of a text", rowgroup.Leaf{Type: "string", Physical: format.ByteArray}, []*parquet.Statistics{{Values: 1, OldMin: []byte("a"), OldMax: []byte("b")}}, "", "", 0},
		{"no values", rowgroup.Leaf{Type: "int32", Physical: format.Int32}, []*parquet.Statistics{{}}, "", "", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var column Column
			for _, k := range c.chunks {
				column.span.addChunk(boundsOf(c.leaf), k)
			}
			column.show()
			nulls := int64(-1)
			if column.Nulls != nil {
				nulls = *column.Nulls
			}
			if string(column.Min) != c.min || string(column.Max) != c.max || nulls != c.nulls {
				t.Errorf("got %s, %s and %d nulls, want %s, %s, %d", column.Min, column.Max, nulls, c.min, c.max, c.nulls)
			}
		})
	}
}

func TestRuns(t *testing.T) {
	for want, rows := range map[string][]int64{
		"-": nil, "5": {5}, "2 x 5": {5, 5}, "2 x 5, 3": {5, 5, 3}, "1, 2, 3, 4, ...": {1, 2, 3, 4, 5},
	} {
		if got := runs(rows); got != want {
			t.Errorf("%v is %q, want %q", rows, got, want)
		}
	}
}
