package rule

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
)

// keysAs is a column of fixed-width values.
func keysAs[T column.Value](f *column.Field, v ...T) *column.Array {
	return &column.Array{Field: f, Len: len(v), Data: unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0])))}
}

func keysOf[T column.Value](v ...T) *column.Array { return keysAs(column.FieldOf[T]("key"), v...) }

// keyTexts is a column of strings.
func keyTexts(v ...string) *column.Array {
	a := &column.Array{Field: &column.Field{Name: "key", Kind: column.Binary, Type: column.TypeString}, Len: len(v), Offsets: []int32{0}}
	for _, s := range v {
		a.Data = append(a.Data, s...)
		a.Offsets = append(a.Offsets, int32(len(a.Data)))
	}
	return a
}

func int64Bytes(v int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }

func nullAt(a *column.Array, i int) *column.Array {
	a.Valid = make([]byte, (a.Len+7)/8)
	for j := range a.Len {
		if j != i {
			a.Valid[j/8] |= 1 << (j % 8)
		}
	}
	a.Nulls = 1
	return a
}

// The bytes that stand for a value are the documented ones, whatever the column's width.
func TestKeyBytes(t *testing.T) {
	half := math.Float64bits(0.5)
	for _, c := range []struct {
		name string
		key  *column.Array // value 1 is looked at
		want []byte
	}{
		{"int8", keysOf[int8](0, -5), int64Bytes(-5)},
		{"int16", keysOf[int16](0, -5), int64Bytes(-5)},
		{"int32", keysOf[int32](0, -5), int64Bytes(-5)},
		{"int64", keysOf[int64](0, -5), int64Bytes(-5)},
		{"uint8", keysOf[uint8](0, 200), int64Bytes(200)},
		{"uint16", keysOf[uint16](0, 200), int64Bytes(200)},
		{"uint32", keysOf[uint32](0, 200), int64Bytes(200)},
		{"uint64", keysOf[uint64](0, 1<<63), int64Bytes(math.MinInt64)},
		{"bool", keysOf(false, true), int64Bytes(1)},
		{"float32", keysOf[float32](0, 0.5), int64Bytes(int64(half))},
		{"float64", keysOf[float64](0, 0.5), int64Bytes(int64(half))},
		{"-0", keysOf[float64](0, math.Copysign(0, -1)), int64Bytes(0)},
		{"NaN", keysOf[float64](0, -math.NaN()), int64Bytes(0x7ff8000000000000)},
		{"date", keysAs[int32](&column.Field{Kind: column.Fixed, Type: column.TypeDate, Width: 4}, 0, 19000), int64Bytes(19000)},
		{"timestamp", keysAs[int64](&column.Field{Kind: column.Fixed, Type: column.TypeTimestamp, Width: 8}, 0, 77), int64Bytes(77)},
		{"decimal", keysAs[int64](&column.Field{Kind: column.Fixed, Type: column.TypeDecimal, Width: 8}, 0, 77), int64Bytes(77)},
		{"uuid", keysAs(&column.Field{Kind: column.Fixed, Type: column.TypeUUID, Width: 16}, [16]byte{}, [16]byte{1, 15: 2}), []byte{1, 15: 2}},
		{"string", keyTexts("x", "user-7"), []byte("user-7")},
		{"null", nullAt(keyTexts("x", ""), 1), nil},
		{"null number", nullAt(keysOf[int64](3, 0), 1), nil},
		{"all null", &column.Array{Field: &column.Field{Kind: column.Null, Type: column.TypeUnknown}, Len: 2, Nulls: 2}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(12) {
				p := partOf(t, Split{Parts: map[string]float64{"a": 1, "b": 1}, Part: "a", Key: "key", Seed: seed})
				keep := []uint64{2}
				if err := p.Marker().ByKey(Column{Values: c.key}, 2, keep); err != nil {
					t.Fatal(err)
				}
				if want := p.hasHash(hash64(seed, c.want)); keep[0] == 2 != want {
					t.Errorf("seed %d: kept %v, want %v", seed, keep[0] == 2, want)
				}
			}
		})
	}
}

// Parts by key are disjoint and complete, keep to the weights, and a key has one part and one side
// of a sample wherever it stands.
func TestPartsByKey(t *testing.T) {
	weights := map[string]float64{"train": 8, "val": 1, "test": 1}
	const keys = 20_000
	var names []string
	for i := range keys {
		names = append(names, fmt.Sprintf("user-%d", i))
	}
	taken := make([]uint64, wordsFor(keys))
	for name, w := range weights {
		keep, sample := allRows(keys), allRows(keys)
		split := Split{Parts: weights, Part: name, Key: "key"}
		if err := partOf(t, split).Marker().ByKey(Column{Values: keyTexts(names...)}, keys, keep); err != nil {
			t.Fatal(err)
		}
		split.Subsample = 0.25
		if err := partOf(t, split).Marker().ByKey(Column{Values: keyTexts(names...)}, keys, sample); err != nil {
			t.Fatal(err)
		}
		for i := range taken {
			if taken[i]&keep[i] != 0 || sample[i]&^keep[i] != 0 {
				t.Fatalf("%s: keys of another part, or a sample of none", name)
			}
			taken[i] |= keep[i]
		}
		if n, want := float64(countBits(keep)), keys*w/10; math.Abs(n-want) > 5*math.Sqrt(want) {
			t.Errorf("%s has %.0f keys, want about %.0f", name, n, want)
		}
		if n, want := float64(countBits(sample)), keys*w/40; math.Abs(n-want) > 5*math.Sqrt(want) {
			t.Errorf("a quarter of %s has %.0f keys, want about %.0f", name, n, want)
		}
		alone := []uint64{1}
		if err := partOf(t, Split{Parts: weights, Part: name, Key: "key"}).Marker().ByKey(Column{Values: keyTexts(names[777])}, 1, alone); err != nil {
			t.Fatal(err)
		}
		if alone[0] != keep[777/64]>>(777%64)&1 {
			t.Errorf("%s: key 777 is of another part in other rows", name)
		}
	}
	if countBits(taken) != keys {
		t.Errorf("%d of %d keys are in a part", countBits(taken), keys)
	}
}

func TestKeyRefused(t *testing.T) {
	p := partOf(t, Split{Subsample: 0.5, Key: "key"})
	for name, f := range map[string]*column.Field{
		"list":   {Name: "key", Kind: column.List, Children: []*column.Field{column.FieldOf[int32]("item")}},
		"struct": {Name: "key", Kind: column.Struct},
		"map":    {Name: "key", Kind: column.Map},
	} {
		t.Run(name, func(t *testing.T) {
			var wrong *Error
			if err := p.Marker().ByKey(Column{Values: &column.Array{Field: f}}, 0, nil); !errors.As(err, &wrong) || wrong.Field != "PartKey" {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("no values", func(t *testing.T) {
		if err := p.Marker().ByKey(Column{}, 3, []uint64{7}); err == nil {
			t.Error("accepted")
		}
	})
	t.Run("fewer values", func(t *testing.T) {
		if err := p.Marker().ByKey(Column{Values: keysOf[int64](1, 2)}, 3, []uint64{7}); err == nil {
			t.Error("accepted")
		}
	})
}

// Keys that are coded by a dictionary, or the same in all rows, are those of plain values.
func TestStoredKeys(t *testing.T) {
	const rows = 200
	entries := []string{"a", "b", "c", "d", "e"}
	plain, codes := make([]string, rows), make([]byte, rows)
	for i := range plain {
		codes[i] = byte(i * i % 5)
		plain[i] = entries[codes[i]]
	}
	present := make([]byte, rows/8)
	for i := range present {
		present[i] = 0xb7
	}
	nulls := keyTexts(plain...)
	nulls.Valid, nulls.Nulls = present, rows/4
	for part := range 3 {
		split := Split{Parts: map[string]float64{"0": 1, "1": 1, "2": 1}, Part: fmt.Sprint(part), Key: "key", Seed: 5}
		m := partOf(t, split).Marker()
		marked := func(c Column) []uint64 {
			keep := allRows(rows)
			if err := m.ByKey(c, rows, keep); err != nil {
				t.Fatal(err)
			}
			return keep
		}
		for _, c := range []struct {
			name      string
			got, want Column
		}{
			{"codes", Column{Values: keyTexts(entries...), Codes: codes, CodeWidth: 1}, Column{Values: keyTexts(plain...)}},
			{"codes with nulls", Column{Values: keyTexts(entries...), Codes: codes, CodeWidth: 1, Present: [][]byte{present}}, Column{Values: nulls}},
			{"constant", Column{Values: keyTexts("c"), Constant: true}, Column{Values: keyTexts(slices.Repeat([]string{"c"}, rows)...)}},
			{
				"nulls alone, of integers",
				Column{Values: &column.Array{Field: column.FieldOf[int64]("key"), Len: rows, Nulls: rows}},
				Column{Values: keyTexts(make([]string, rows)...)},
			},
			{
				"nulls alone",
				Column{Values: &column.Array{Field: keyTexts().Field, Len: rows, Nulls: rows}},
				Column{Values: keyTexts(make([]string, rows)...)},
			},
		} {
			if got, want := marked(c.got), marked(c.want); !slices.Equal(got, want) {
				t.Errorf("part %d, %s: %x, plain values have %x", part, c.name, got, want)
			}
		}
	}
}
