package loader

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/parquet-go/parquet-go"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/shuffle"
)

func TestBands(t *testing.T) {
	int64s := func(name string) *column.Field { return fixed(name, column.TypeInt64, 8) }
	schema := &column.Schema{Fields: []*column.Field{
		texts("a"), int32s("b"), int64s("c"), fixed("d", column.TypeTimestamp, 8), int32s("e"), listed("f", 3, int32s("item")),
		int64s("g"), int32s("h"), fixed("i", column.TypeDecimal, 4), int32s("j"),
	}}
	alone := make([]bool, len(schema.Fields))
	alone[7] = true
	var got [][]int
	for _, b := range bands(schema, alone) {
		got = append(got, b.columns)
	}
	// Two columns or more first, in their order; neither the timestamp nor the decimal has a
	// companion of its type.
	if want := "[[1 4 9] [2 6] [0] [3] [5] [7] [8]]"; fmt.Sprint(got) != want {
		t.Errorf("bands %v, want %s", got, want)
	}
}

// A measure is a row whose columns follow from the first.
type measure struct {
	ID    int64   `parquet:"id"`
	X     float32 `parquet:"x"`
	Name  string  `parquet:"name"`
	Twice int64   `parquet:"twice"`
	Y     float32 `parquet:"y"`
	Some  *int64  `parquet:"some,optional"`
	Z     float32 `parquet:"z"`
}

func openMeasures(t *testing.T, rows int) *iterable.Dataset {
	t.Helper()
	dir := t.TempDir()
	all := make([]measure, rows)
	for i := range all {
		all[i] = measure{ID: int64(i), X: float32(i) + 0.5, Name: strings.Repeat("n", i%9), Twice: int64(2 * i), Y: float32(-i), Z: float32(i % 7)}
		if i%3 != 0 {
			all[i].Some = &all[i].Twice
		}
	}
	if err := parquet.WriteFile(filepath.Join(dir, "measures.parquet"), all, parquet.MaxRowsPerRowGroup(300)); err != nil {
		t.Fatal(err)
	}
	ds, err := iterable.Open(t.Context(), shard.Stores{"": local.Store{}}, []string{dir}, iterable.Options{Order: iterable.Order{Shuffle: true, Seed: 3}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ds.Close(); err != nil {
			t.Error(err)
		}
	})
	return ds
}

// Columns of one type lie at equal distances, each aligned and separate, and each row holds
// together.
func TestBandLies(t *testing.T) {
	const rows = 1000
	ds := openMeasures(t, rows)
	for _, size := range []int{1, 7, 64, 300} {
		l := newShop(t, ds, Options{BatchSize: size, Tail: shuffle.Short, NaN: true, Fill: []Fill{{Column: "some", Value: -1}}})
		seen := 0
		for b, err := range l.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			for _, band := range [][]int{{0, 3, 5}, {1, 4, 6}} {
				first := b.Columns[band[0]]
				width := first.Field.Width
				stride := (b.Rows*width + bandAlign - 1) / bandAlign * bandAlign
				for k, i := range band {
					data := b.Columns[i].Data
					at := int(uintptr(unsafe.Pointer(&data[0])) - uintptr(unsafe.Pointer(&first.Data[0])))
					if at != k*stride || len(data) != b.Rows*width || cap(data) != len(data) {
						t.Fatalf("batches of %d: column %d of %v has %d bytes (room for %d) at %d, want %d at %d",
							size, i, band, len(data), cap(data), at, b.Rows*width, k*stride)
					}
				}
			}
			seen += checkMeasures(t, b)
			b.Release()
		}
		if seen != rows {
			t.Errorf("batches of %d: %d rows of %d", size, seen, rows)
		}
	}
}

// checkMeasures returns the number of rows.
func checkMeasures(t *testing.T, b *Batch) int {
	t.Helper()
	ids, twice, some := values[int64](t, b, "id"), values[int64](t, b, "twice"), values[int64](t, b, "some")
	x, y, z := values[float32](t, b, "x"), values[float32](t, b, "y"), values[float32](t, b, "z")
	for i, id := range ids {
		want := 2 * id
		if id%3 == 0 {
			want = -1
		}
		if twice[i] != 2*id || some[i] != want || x[i] != float32(id)+0.5 || y[i] != float32(-id) || z[i] != float32(id%7) {
			t.Fatalf("row %d is %d, %d, %d, %v, %v, %v", i, id, twice[i], some[i], x[i], y[i], z[i])
		}
	}
	return len(ids)
}

func values[T column.Value](t *testing.T, b *Batch, name string) []T {
	t.Helper()
	a, err := b.Column(name)
	if err != nil {
		t.Fatal(err)
	}
	v, err := column.Values[T](a)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
