package rule

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

func bindText(t testing.TB, text string, fields ...*column.Field) *Filter {
	t.Helper()
	e, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	f, err := e.Bind(&column.Schema{Fields: fields}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func int32Array(f *column.Field, v ...int32) *column.Array {
	return &column.Array{Field: f, Len: len(v), Data: int32s(v...)}
}

// TestEvaluatorIsReused: nothing of a block shows in the next, larger or smaller.
func TestEvaluatorIsReused(t *testing.T) {
	id, name := column.FieldOf[int32]("id"), &column.Field{Name: "name", Kind: column.Binary, Type: column.TypeString}
	f := bindText(t, "(id < 3 or id > 100 or name = 'b') and not (id = 1 or name = 'c')", id, name)
	e := f.NewEvaluator()
	r := rand.New(rand.NewPCG(1, 1))
	for block := range 200 {
		rows := r.IntN(300)
		ids, want := make([]int32, rows), []int{}
		names := &column.Array{Field: name, Len: rows, Offsets: []int32{0}}
		for i := range ids {
			ids[i] = r.Int32N(6)
			n := byte('a' + r.IntN(3))
			names.Data, names.Offsets = append(names.Data, n), append(names.Offsets, int32(i+1))
			if (ids[i] < 3 || n == 'b') && ids[i] != 1 && n != 'c' {
				want = append(want, i)
			}
		}
		kept, n, err := e.Evaluate(rows, []Column{{Values: int32Array(id, ids...)}, {Values: names}})
		if err != nil {
			t.Fatal(err)
		}
		got := []int{}
		for i := range rows {
			if kept[i/64]>>(i%64)&1 == 1 {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, want) || n != len(want) || len(kept) != (rows+63)/64 {
			t.Fatalf("block %d: rows %v (%d), want %v", block, got, n, want)
		}
	}
}

// TestEvaluateAllocatesNothing once its scratch has grown.
func TestEvaluateAllocatesNothing(t *testing.T) {
	columns := benchColumns(1000)
	var fields []*column.Field
	for _, c := range columns {
		fields = append(fields, c.Values.Field)
	}
	f := bindText(t, "(id < 10 or score > 0.5) and not (maybe < 0.1 or lang in ('en', 'de')) and url > 'h' and len(tokens) > 3", fields...)
	var inputs []Column
	for _, in := range f.Inputs() {
		inputs = append(inputs, columns[in.Path[0]])
	}
	e := f.NewEvaluator()
	n := testing.AllocsPerRun(20, func() {
		if _, _, err := e.Evaluate(1000, inputs); err != nil {
			t.Fatal(err)
		}
	})
	if n > 4 { // the closures of the string test, of a block and not of a row
		t.Errorf("%v allocations a block", n)
	}
}

func TestEvaluateRefusesOtherColumns(t *testing.T) {
	id, name := column.FieldOf[int32]("id"), &column.Field{Name: "name", Kind: column.Binary, Type: column.TypeString}
	good := func() []Column {
		return []Column{{Values: int32Array(id, 1, 2, 3)}, {Values: &column.Array{Field: name, Len: 3, Offsets: []int32{0, 1, 1, 2}, Data: []byte("ab")}}}
	}
	for _, c := range []struct {
		name   string
		change func(c []Column) []Column
		want   string
	}{
		{"nothing", func(c []Column) []Column { return c }, "<nil>"},
		{"one column", func(c []Column) []Column { return c[:1] }, "the filter reads 2 columns, got 1"},
		{"no values", func(c []Column) []Column { c[0].Values = nil; return c }, `column "id" has no values`},
		{"another type", func(c []Column) []Column { c[0], c[1] = c[1], c[0]; return c }, `column "id" is string, and the filter was bound to int32`},
		{"few rows", func(c []Column) []Column { c[0].Values.Len = 2; return c }, `column "id" has 2 values in 12 bytes, want 3 values`},
		{"few bytes", func(c []Column) []Column { c[0].Values.Data = c[0].Values.Data[:8]; return c }, `column "id" has 3 values in 8 bytes, want 3 values`},
		{"few offsets", func(c []Column) []Column { c[1].Values.Offsets = c[1].Values.Offsets[:3]; return c }, `column "name" has 3 values in 2 bytes, want 3 values`},
		{"few valid", func(c []Column) []Column { c[0].Values.Valid = []byte{}; return c }, `column "id" has a bitmap of fewer than 3 rows`},
		{"few present", func(c []Column) []Column { c[0].Present = [][]byte{{}}; return c }, `column "id" has a bitmap of fewer than 3 rows`},
		{"few codes", func(c []Column) []Column { c[0].Codes, c[0].CodeWidth = []byte{0, 1}, 1; return c }, `column "id" has 2 bytes of codes of 1 bytes for 3 rows`},
		{"odd codes", func(c []Column) []Column { c[0].Codes, c[0].CodeWidth = make([]byte, 9), 3; return c }, `column "id" has 9 bytes of codes of 3 bytes for 3 rows`},
		{"many constants", func(c []Column) []Column { c[0].Constant = true; return c }, `column "id" has 3 values in 12 bytes, want 1 values`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := bindText(t, "id = 1 or name = 'b'", id, name).NewEvaluator().Evaluate(3, c.change(good()))
			if got := fmt.Sprint(err); got != c.want {
				t.Errorf("error %s\nwant  %s", got, c.want)
			}
		})
	}
}

func TestNewColumnErrors(t *testing.T) {
	id := column.FieldOf[int32]("id")
	top := &column.Array{Field: &column.Field{Name: "s", Kind: column.Struct, Children: []*column.Field{id}}, Len: 1, Children: []*column.Array{int32Array(id, 1)}}
	for _, path := range [][]string{{"s", "other"}, {"s", "id", "x"}} {
		if c, err := NewColumn(top, path...); err == nil {
			t.Errorf("%q is %v", path, c)
		}
	}
}

// TestInt96: nanoseconds that run over their day, in either direction, are those of another day.
func TestInt96(t *testing.T) {
	const day, julian = 86400_000_000_000, 2440588
	stored := func(nanos int64, day uint32) []byte {
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, uint64(nanos)), day)
	}
	for _, c := range []struct {
		nanos int64
		day   uint32
	}{{5, julian + 1}, {day + 5, julian}, {5 - day, julian + 2}, {5 - 2*day, julian + 3}} {
		if got, want := wideKeyOf(stored(c.nanos, c.day)), int96Key(julian+1, 5); got != want {
			t.Errorf("%d ns of day %d have the key %v, want %v", c.nanos, c.day, got, want)
		}
	}
}
