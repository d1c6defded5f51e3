package rule

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

// oneColumn tells the same of every column.
type oneColumn ColumnStats

func (s oneColumn) Column(int) ColumnStats { return ColumnStats(s) }

func int32s(v ...int32) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return b
}

func float64s(v ...float64) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

func stringArray(v ...string) *column.Array {
	a := &column.Array{Field: &column.Field{Kind: column.Binary, Type: column.TypeString}, Offsets: []int32{0}}
	for _, s := range v {
		a.Data = append(a.Data, s...)
		a.Offsets, a.Len = append(a.Offsets, int32(len(a.Data))), a.Len+1
	}
	return a
}

func TestPrune(t *testing.T) {
	full := func(least, most []byte) ColumnStats {
		return ColumnStats{Rows: 10, NullsKnown: true, Min: least, Max: most}
	}
	negativeZero := math.Copysign(0, -1)
	holds := func(values ...string) func(v []byte) bool {
		return func(v []byte) bool {
			for _, s := range values {
				if s == string(v) {
					return true
				}
			}
			return false
		}
	}
	for _, c := range []struct {
		name, text string
		stats      ColumnStats
		want       Verdict
	}{
		{"nothing known", "i32 = 5", ColumnStats{}, Some},
		{"below", "i32 < 5", full(int32s(5), int32s(9)), None},
		{"all below", "i32 < 10", full(int32s(5), int32s(9)), All},
		{"some below", "i32 < 6", full(int32s(5), int32s(9)), Some},
		{"all below, perhaps nulls", "i32 < 10", ColumnStats{Min: int32s(5), Max: int32s(9)}, Some},
		{"all below, nulls", "i32 < 10", ColumnStats{Rows: 10, Nulls: 1, NullsKnown: true, Min: int32s(5), Max: int32s(9)}, Some},
		{"one bound", "i32 > 9", ColumnStats{Max: int32s(9)}, None},
		{"negative below positive", "i32 < 0", full(int32s(0), int32s(9)), None},
		{"unequal, one value", "i32 != 5", full(int32s(5), int32s(5)), None},
		{"unequal, outside", "i32 != 5", full(int32s(6), int32s(9)), All},
		{"in, between members", "i32 in (1, 100)", full(int32s(2), int32s(99)), None},
		{"in, one value", "i32 in (1, 7, 100)", full(int32s(7), int32s(7)), All},
		{"not in, one value", "i32 not in (1, 7, 100)", full(int32s(7), int32s(7)), None},
		{"a range of members", "i32 in (1, 2, 3)", full(int32s(1), int32s(3)), All},
		{"empty range", "i32 between 5 and 4", full(int32s(1), int32s(9)), None},
		{"bounds of another width", "i32 < 5", full([]byte{9}, []byte{9}), Some},
		{"no nulls", "i32 is null", full(nil, nil), None},
		{"no nulls, not", "i32 is not null", full(nil, nil), All},
		{"all null", "i32 is null", ColumnStats{Rows: 3, Nulls: 3, NullsKnown: true}, All},
		{"all null, compared", "i32 != 5", ColumnStats{Rows: 3, Nulls: 3, NullsKnown: true}, None},
		{"some null", "i32 is null", ColumnStats{Rows: 3, Nulls: 2, NullsKnown: true}, Some},
		{"floats outside", "f64 > 1", full(float64s(0), float64s(1)), None},
		{"floats inside, perhaps NaN", "f64 <= 1", full(float64s(0), float64s(1)), Some},
		{"not floats outside, perhaps NaN", "not f64 > 1", full(float64s(0), float64s(1)), All},
		{"not floats inside, perhaps NaN", "not f64 <= 1", full(float64s(0), float64s(1)), Some},
		{"NaN bounds", "f64 > 1", full(float64s(math.NaN()), float64s(0)), Some},
		{"NaN bounds, greatest", "f64 > 1", full(float64s(0), float64s(math.NaN())), Some},
		{"zero from minus zero", "f64 = 0", full(float64s(negativeZero), float64s(negativeZero)), Some},
		{"minus zero from zero", "f64 >= -0.0", full(float64s(negativeZero), float64s(negativeZero)), Some},
		{"below zero", "f64 < 0", full(float64s(0), float64s(1)), None},
		{"floats in, at the greatest", "f64 in (1, 5)", full(float64s(2), float64s(5)), Some},
		{"floats in, between members", "f64 in (1, 5)", full(float64s(2), float64s(4)), None},
		{"infinity", "f64 > inf", full(float64s(0), float64s(1)), None},
		{"strings", "name < 'b'", full([]byte("b"), []byte("c")), None},
		{"strings by bytes", "name > 'z'", full([]byte("a"), []byte("é")), Some},
		{"truncated greatest", "name = 'abc'", full([]byte("a"), []byte("ab")), None},
		{"empty string", "name > ''", full([]byte{}, []byte{}), None},
		{"empty string is a bound", "name = 'x'", ColumnStats{Max: []byte{}}, None},
		{"one string", "name in ('a', 'b')", full([]byte("a"), []byte("a")), All},
		{"dictionary", "name = 'x'", ColumnStats{Distinct: stringArray("a", "b")}, None},
		{"dictionary, all", "name in ('a', 'b', 'c')", ColumnStats{Rows: 9, NullsKnown: true, Distinct: stringArray("a", "b")}, All},
		{"dictionary, hashed", "hash(name) % 1 = 0", ColumnStats{Rows: 9, NullsKnown: true, Distinct: stringArray("a", "b")}, All},
		{"dictionary, lengths", "len(name) > 1", ColumnStats{Distinct: stringArray("a", "b")}, None},
		{"dictionary of another type", "i32 = 1", ColumnStats{Distinct: stringArray("a")}, Some},
		{"bounds say nothing of lengths", "len(name) > 5", full([]byte("a"), []byte("b")), Some},
		{"bounds say nothing of hashes", "hash(i32) % 5 = 3", full(int32s(1), int32s(1)), Some},
		{"bloom filter", "name = 'x'", ColumnStats{MayContain: holds("a")}, None},
		{"bloom filter, in", "name in ('x', 'a')", ColumnStats{MayContain: holds("a")}, Some},
		{"bloom filter, unequal", "name != 'x'", ColumnStats{Rows: 9, NullsKnown: true, MayContain: holds("a")}, All},
		{"bloom filter, order", "name < 'x'", ColumnStats{MayContain: holds()}, Some},
		{"bloom filter, number", "i32 = 5", ColumnStats{MayContain: holds(string(int32s(6)))}, None},
		{"bloom filter, minus zero", "f64 = 0", ColumnStats{MayContain: holds(string(float64s(negativeZero)))}, Some},
		{"bloom filter, zero", "f64 in (-0.0, 3)", ColumnStats{MayContain: holds(string(float64s(0)))}, Some},
		{"INT96 bounds", "old > '2024-01-01'", full(make([]byte, 12), make([]byte, 12)), None},
		{"prefix, below", "starts_with(name, 'b')", full([]byte("a"), []byte("azz")), None},
		{"prefix, above", "name like 'b%'", full([]byte("c"), []byte("d")), None},
		{"prefix, at the least", "name like 'b%'", full([]byte("bz"), []byte("d")), Some},
		{"prefix, at the greatest", "name like 'bb%'", full([]byte("a"), []byte("bb")), Some},
		{"prefix, truncated greatest", "name like 'bbb%'", full([]byte("a"), []byte("bc")), Some},
		{"prefix of all", "name like 'b%'", full([]byte("b"), []byte("bz")), All},
		{"prefix of all, not", "name not like 'b%'", full([]byte("b"), []byte("bz")), None},
		{"prefix of all, bounded below alone", "name like 'b%'", ColumnStats{Rows: 1, NullsKnown: true, Min: []byte("b")}, Some},
		{"prefix before wildcards, below", "name like 'b%x_'", full([]byte("a"), []byte("azz")), None},
		{"prefix before wildcards, of all", "name like 'b%x_'", full([]byte("b"), []byte("bz")), Some},
		{"prefix before wildcards, not", "name not like 'b%x_'", full([]byte("a"), []byte("azz")), All},
		{"pattern without wildcards", "name like 'b'", full([]byte("c"), []byte("d")), None},
		{"pattern without wildcards, bloom filter", "name like 'x'", ColumnStats{MayContain: holds("a")}, None},
		{"pattern that all match", "name like '%'", full([]byte("a"), []byte("d")), Some},
		{"prefix, bloom filter", "name like 'x%'", ColumnStats{MayContain: holds("a")}, Some},
		{"within, bounds", "contains(name, 'x')", full([]byte("a"), []byte("b")), Some},
		{"within, one value", "contains(name, 'x')", full([]byte("ax"), []byte("ax")), All},
		{"suffix, one other value", "ends_with(name, 'x')", full([]byte("xa"), []byte("xa")), None},
		{"within, dictionary", "contains(name, 'x')", ColumnStats{Distinct: stringArray("a", "b")}, None},
		{"lower case, bounds", "lower(name) = 'x'", full([]byte("A"), []byte("Z")), Some},
		{"lower case, one value", "lower(name) = 'x'", full([]byte("X"), []byte("X")), All},
		{"lower case, dictionary", "lower(name) like 'x%'", ColumnStats{Distinct: stringArray("A", "B")}, None},
		{"lower case, dictionary, all", "lower(name) in ('a', 'b')", ColumnStats{Rows: 9, NullsKnown: true, Distinct: stringArray("A", "b")}, All},
		{"lower case, bloom filter", "lower(name) = 'x'", ColumnStats{MayContain: holds()}, Some},
		{"NaN, bounds", "f64 is nan", full(float64s(0), float64s(1)), Some},
		{"not NaN, bounds", "f64 is not nan", full(float64s(0), float64s(1)), Some},
		{"NaN, all null", "f64 is not nan", ColumnStats{Rows: 3, Nulls: 3, NullsKnown: true}, None},
		{"and, one none", "i32 < 5 and name = 'x'", full(int32s(5), int32s(9)), None},
		{"or, all none", "i32 < 5 or i32 = 100", full(int32s(5), int32s(9)), None},
		{"or, one all", "i32 < 6 or i32 > 1", full(int32s(5), int32s(9)), All},
		{"not and", "not (i32 >= 5 and i32 < 10)", full(int32s(5), int32s(9)), None},
		{"and, all", "i32 >= 5 and i32 < 10", full(int32s(5), int32s(9)), All},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := Parse(c.text)
			if err != nil {
				t.Fatal(err)
			}
			f, err := e.Bind(bindSchema(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Prune(oneColumn(c.stats)); got != c.want {
				t.Errorf("%s is %v, want %v", c.text, got, c.want)
			}
		})
	}
}
