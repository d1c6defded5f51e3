package rowgroup

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
)

func f32(v float64) []byte {
	return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v)))
}
func f64(v float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)) }

// typeOrder is the column orders of a file of so many leaves.
func typeOrder(leaves int) []format.ColumnOrder {
	all := make([]format.ColumnOrder, leaves)
	for i := range all {
		all[i] = format.ColumnOrder{Value: &format.TypeDefinedOrder{}}
	}
	return all
}

// Bounds are taken in the form of decoded values, and none that cannot be trusted.
func TestBoundsThatAreTrusted(t *testing.T) {
	newer := func(lo, hi []byte) format.Statistics { return format.Statistics{MinValue: lo, MaxValue: hi} }
	older := func(lo, hi []byte) format.Statistics { return format.Statistics{Min: lo, Max: hi} }
	minus := func(n int64) []byte { return le64(-n)[:4] }
	for _, c := range []struct {
		name, schema string
		stats        format.Statistics
		want         string // least and most; "" for none
		unordered    bool
		other        string // schema of another shard
		replace      bool
	}{
		{name: "int64", schema: `required int64 a;`, stats: newer(le64(-5), le64(7)), want: "fbffffffffffffff 0700000000000000"},
		{name: "int64 of no order", schema: `required int64 a;`, stats: newer(le64(-5), le64(7)), unordered: true},
		{name: "older int64", schema: `required int64 a;`, stats: older(le64(-5), le64(7)), unordered: true, want: "fbffffffffffffff 0700000000000000"},
		{name: "older date", schema: `required int32 a (DATE);`, stats: older(le32(-5), le32(7)), unordered: true, want: "fbffffff 07000000"},
		{name: "older double", schema: `required double a;`, stats: older(f64(-1), f64(1)), unordered: true, want: "000000000000f0bf 000000000000f03f"},
		{name: "older string", schema: `required binary a (UTF8);`, stats: older([]byte("a"), []byte("b"))},
		{name: "older binary", schema: `required binary a;`, stats: older([]byte("a"), []byte("b"))},
		{name: "older fixed binary", schema: `required fixed(1) a;`, stats: older([]byte("a"), []byte("b"))},
		{name: "older uint32", schema: `required int32 a (UINT_32);`, stats: older(le32(-5), le32(7))},
		{name: "older uint32 that is widened", schema: `required int32 a (UINT_32);`, other: `required int64 a;`, stats: older(le32(-5), le32(7))},
		{name: "older uint64", schema: `required int64 a (UINT_64);`, stats: older(le64(-5), le64(7))},
		{name: "older decimal", schema: `required int64 a (DECIMAL(9,2));`, stats: older(le64(-5), le64(7))},
		{name: "uint32", schema: `required int32 a (UINT_32);`, stats: newer(le32(7), le32(-5)), want: "07000000 fbffffff"},
		{name: "int8", schema: `required int32 a (INT_8);`, stats: newer(minus(5), le32(7)), want: "fb 07"},
		{name: "int8 beyond its range", schema: `required int32 a (INT_8);`, stats: newer(le32(0), le32(300))},
		{name: "uint16 below its range", schema: `required int32 a (UINT_16);`, stats: newer(minus(1), le32(300))},
		{name: "string", schema: `required binary a (UTF8);`, stats: newer([]byte("a"), []byte("b\xff")), want: "61 62ff"},
		{name: "empty string", schema: `required binary a (UTF8);`, stats: newer([]byte{}, []byte("b")), want: " 62"},
		{name: "string that is replaced", schema: `required binary a (UTF8);`, stats: newer([]byte("a"), []byte("b\xff")), replace: true},
		{name: "binary that is replaced", schema: `required binary a;`, stats: newer([]byte("a"), []byte("b\xff")), replace: true, want: "61 62ff"},
		{name: "one bound", schema: `required int64 a;`, stats: newer(le64(1), nil), want: "0100000000000000 "},
		{name: "a short bound", schema: `required int64 a;`, stats: newer(le64(1), []byte{1, 2})},
		{name: "a cut fixed binary", schema: `required fixed(4) a;`, stats: newer([]byte("ab"), []byte("abcd"))},
		{name: "NaN", schema: `required double a;`, stats: newer(f64(1), f64(math.NaN()))},
		{name: "float NaN", schema: `required float a;`, stats: newer(f32(math.NaN()), f32(1))},
		{name: "float16", schema: `required fixed(2) a (:FLOAT16);`, stats: newer([]byte{0, 0x3c}, []byte{0, 0x40}), want: "003c 0040"},
		{name: "float16 NaN", schema: `required fixed(2) a (:FLOAT16);`, stats: newer([]byte{0, 0x3c}, []byte{1, 0x7c})},
		{name: "INT96", schema: `required int96 a;`, stats: newer(make([]byte, 12), make([]byte, 12))},
		{name: "interval", schema: `required fixed(12) a (INTERVAL);`, stats: newer(make([]byte, 12), make([]byte, 12))},
		{name: "decimal of bytes", schema: `required binary a (DECIMAL(9,2));`, stats: newer([]byte{1}, []byte{2})},
		{name: "decimal", schema: `required fixed(5) a (DECIMAL(9,2));`, stats: newer([]byte{0xff, 0xff, 0xff, 0xff, 0xfe}, []byte{0, 0, 0, 1, 2}), want: "feffffffffffffff 0201000000000000"},
		{name: "large decimal", schema: `required fixed(40) a (DECIMAL(90,2));`, stats: newer(make([]byte, 40), make([]byte, 40))},
		{name: "widened int32", schema: `required int32 a;`, other: `required int64 a;`, stats: newer(le32(-5), le32(7)), want: "fbffffffffffffff 0700000000000000"},
		{name: "widened uint32", schema: `required int32 a (UINT_32);`, other: `required int64 a;`, stats: newer(le32(7), le32(-5)), want: "0700000000000000 fbffffff00000000"},
		{name: "widened float", schema: `required float a;`, other: `required double a;`, stats: newer(f32(-1), f32(1)), want: "000000000000f0bf 000000000000f03f"},
		{name: "a list's items", schema: `optional group a (LIST) { repeated group list { optional int32 element; } }`, stats: newer(le32(1), le32(2))},
	} {
		t.Run(c.name, func(t *testing.T) {
			meta := func(m *format.FileMetaData) {
				m.RowGroups[0].Columns[0].MetaData.Statistics = c.stats
				if !c.unordered {
					m.ColumnOrders = typeOrder(len(m.RowGroups[0].Columns))
				}
			}
			files := map[string][]byte{"a.parquet": filetest.File{Schema: c.schema, Rows: []int{10}, Meta: meta}.Bytes(t)}
			if c.other != "" {
				files["b.parquet"] = filetest.File{Schema: c.other, Rows: []int{10}}.Bytes(t)
			}
			m := openBytes(t, Options{RuleColumns: ruleColumns([]string{"a"}, true), ReplaceUTF8: c.replace}, files)
			s, err := m.ShardStats(context.Background(), 0)
			if err != nil {
				t.Fatal(err)
			}
			k, got := s.Group(0).Column(0), ""
			if k.Min != nil || k.Max != nil {
				got = fmt.Sprintf("%x %x", k.Min, k.Max)
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Nulls are known where they are counted by rows.
func TestNullsThatAreTrusted(t *testing.T) {
	for _, c := range []struct {
		name, schema string
		nulls        int64
		column       string
		want         string
	}{
		{"none", `optional int64 a;`, 0, "a", "0 of 10"},
		{"some", `optional int64 a;`, 3, "a", "3 of 10"},
		{"all", `optional int64 a;`, 10, "a", "10 of 10"},
		{"more than rows", `optional int64 a;`, 11, "a", ""},
		{"negative", `optional int64 a;`, -1, "a", ""},
		{"a member's", `optional group a { required int64 b; }`, 4, "a.b", "4 of 10"},
		{"a struct", `optional group a { required int64 b; }`, 4, "a", ""},
		{"a list's items", `optional group a (LIST) { repeated group list { optional int32 element; } }`, 0, "a", ""},
		{"no type", `optional int32 a (:UNKNOWN);`, 0, "a", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			meta := func(m *format.FileMetaData) {
				m.RowGroups[0].Columns[0].MetaData.Statistics = format.Statistics{NullCount: c.nulls}
			}
			file := filetest.File{Schema: c.schema, Rows: []int{10}, Meta: meta}.Bytes(t)
			m := openBytes(t, Options{RuleColumns: ruleColumns([]string{c.column}, true)}, map[string][]byte{"a.parquet": file})
			s, err := m.ShardStats(context.Background(), 0)
			if err != nil {
				t.Fatal(err)
			}
			k, got := s.Group(0).Column(0), ""
			if k.NullsKnown {
				got = fmt.Sprintf("%d of %d", k.Nulls, k.Rows)
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// What a bloom filter hashes are the file's values: of widened and narrow numbers too.
func TestEncodedValue(t *testing.T) {
	for _, c := range []struct {
		name, schema, other string
		value               []byte
		want                string // "" when the file cannot have it
	}{
		{"int64", `required int64 a;`, "", le64(-5), "fbffffffffffffff"},
		{"int8", `required int32 a (INT_8);`, "", []byte{0xfb}, "fbffffff"},
		{"uint8", `required int32 a (UINT_8);`, "", []byte{0xfb}, "fb000000"},
		{"int16", `required int32 a (INT_16);`, "", []byte{0xfb, 0xff}, "fbffffff"},
		{"uint16", `required int32 a (UINT_16);`, "", []byte{0xfb, 0xff}, "fbff0000"},
		{"widened int32", `required int32 a;`, `required int64 a;`, le64(-5), "fbffffff"},
		{"too large for int32", `required int32 a;`, `required int64 a;`, le64(1 << 40), ""},
		{"widened uint32", `required int32 a (UINT_32);`, `required int64 a;`, le64(1<<32 - 5), "fbffffff"},
		{"negative as uint32", `required int32 a (UINT_32);`, `required int64 a;`, le64(-5), ""},
		{"widened float", `required float a;`, `required double a;`, f64(1.5), "0000c03f"},
		{"no float", `required float a;`, `required double a;`, f64(0.1), ""},
		{"decimal", `required fixed(5) a (DECIMAL(9,2));`, "", le64(-2), "fffffffffe"},
		{"decimal of int32", `required int32 a (DECIMAL(9,2));`, "", le64(-2), "feffffff"},
		{"too large a decimal", `required int32 a (DECIMAL(9,2));`, "", le64(1 << 40), ""},
		{"string", `required binary a (UTF8);`, "", []byte("text"), "74657874"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string][]byte{"a.parquet": filetest.File{Schema: c.schema, Rows: []int{10}}.Bytes(t)}
			if c.other != "" {
				files["b.parquet"] = filetest.File{Schema: c.other, Rows: []int{10}}.Bytes(t)
			}
			m := openBytes(t, Options{RuleColumns: ruleColumns([]string{"a"}, true)}, files)
			b, ok := m.rulesOf(0)[0].statLeaf().EncodedValue(c.value)
			if got := fmt.Sprintf("%x", b); ok && got != c.want || ok != (c.want != "") {
				t.Errorf("got %q, %v, want %q", got, ok, c.want)
			}
		})
	}
}

// A footer that is not the one that was read first is an error, not a fact.
func TestShardStatsChanged(t *testing.T) {
	file := filetest.File{Schema: `required int64 a;`, Rows: []int{10}}.Bytes(t)
	m := openBytes(t, Options{RuleColumns: ruleColumns([]string{"a"}, true)}, map[string][]byte{"a.parquet": file})
	binary.LittleEndian.PutUint32(file[len(file)-parquet.TailBytes:], 20)
	if _, err := m.ShardStats(context.Background(), 0); err == nil {
		t.Error("no error")
	} else {
		t.Log(err)
	}
	if _, err := m.ShardStats(context.Background(), 1); err == nil {
		t.Error("no error for a shard that is not there")
	}
}

// Before footers are read for statistics, partitions and columns that a shard lacks tell something.
func TestPartitionStats(t *testing.T) {
	with, without := filetest.File{Schema: `required int64 a; optional int32 b;`, Rows: []int{10}}, filetest.File{Schema: `required int64 a;`, Rows: []int{10}}
	store, shards := putFiles(t, map[string][]byte{"dt=2024-01-31/a.parquet": with.Bytes(t), "dt=__HIVE_DEFAULT_PARTITION__/b.parquet": without.Bytes(t)})
	m, err := Open(context.Background(), store, shards, Options{
		Columns: []string{"a"}, RuleColumns: ruleColumns([]string{"dt", "b", "a", "nothing"}, true), MissingIsNull: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	got := make([]string, len(shards))
	for i := range shards {
		stats := m.PartitionStats(i)
		for k := range 4 {
			c := stats.Column(k)
			text := "?"
			switch {
			case c.Distinct != nil:
				text = fmt.Sprintf("%x", arrayValue(c.Distinct, 0))
			case c.NullsKnown && c.Nulls == c.Rows:
				text = "null"
			}
			got[i] += text + " "
		}
	}
	if got[0] != "294d0000 ? ? ? " || got[1] != "null null ? ? " {
		t.Errorf("got %q", got)
	}
}
