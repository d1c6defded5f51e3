package loader

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
)

// tableRow is 48 bytes that make a matrix of 28.
type tableRow struct {
	A int64
	B float64
	C *int64
	D *float64
	E int64
	F float64
	G float32
}

const (
	tableGroups = 3 // of a shard
	tableRows   = 12_000
)

// openTable opens a table of numbers in two shards. The last row's F is what the test says.
func openTable(t *testing.T, o iterable.Options, last float64) *iterable.Dataset {
	t.Helper()
	r, store := rand.New(rand.NewPCG(3, 1)), &memstore.Store{}
	some := func() *int64 {
		if n := r.Int64(); r.IntN(9) > 0 {
			return &n
		}
		return nil
	}
	for file := range 2 {
		var b bytes.Buffer
		w := parquet.NewGenericWriter[tableRow](&b)
		for group := range tableGroups {
			rows := make([]tableRow, tableRows)
			for i := range rows {
				x := r.Float64()
				rows[i] = tableRow{A: r.Int64(), B: r.Float64(), C: some(), D: &x, E: r.Int64(), F: r.Float64(), G: r.Float32()}
			}
			if file == 1 && group == tableGroups-1 {
				rows[tableRows-1].F = last
			}
			if _, err := w.Write(rows); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		store.Put(fmt.Sprintf("data/%d.parquet", file), b.Bytes())
	}
	ds, err := iterable.Open(t.Context(), shard.Stores{"mem": store}, []string{"mem://data/"}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ds.Close(); err != nil {
			t.Error(err)
		}
		if n := (*mem.Pool)(ds.Pool()).Stats().InUse; n != 0 {
			t.Errorf("%d bytes of the pool are in use", n)
		}
	})
	return ds
}

// tableFeatures is a matrix of all columns. Kept columns have it made at collate.
func tableFeatures(kept bool) Features {
	f := Features{Stack: []Stack{{Name: "x", Columns: []string{"?"}}}, Scale: map[string]Scale{"B": {0.5, 2}}}
	if kept {
		f.Stack[0].Keep = []string{"?"}
	}
	return f
}

// matrices are those of all batches, up to an error.
func matrices(t *testing.T, l *Loader, each func()) (all []string, err error) {
	t.Helper()
	for b, err := range l.Batches(context.Background()) {
		if err != nil {
			return all, err
		}
		x, err := b.Column("x")
		if err != nil {
			t.Fatal(err)
		}
		each()
		items := x.Children[0]
		all = append(all, fmt.Sprintf("%d %d %x %x", x.Len, items.Nulls, items.Data, items.Valid))
		b.Release()
	}
	return all, nil
}

// Loads make the same matrices as collate makes of columns, with less memory: in any order, and of
// filtered rows.
func TestMatricesOfLoads(t *testing.T) {
	for _, c := range []struct {
		name string
		o    iterable.Options
	}{
		{"shuffled", iterable.Options{Order: iterable.Order{Shuffle: true}, ShuffleBuffer: iterable.Size{Rows: 20_000}}},
		{"file order", iterable.Options{}},
		{"half of the rows", iterable.Options{Order: iterable.Order{Shuffle: true}, ShuffleBuffer: iterable.Size{Rows: 9_000}, Choice: iterable.Choice{Filters: "A >= 0"}}},
		{"few rows", iterable.Options{Order: iterable.Order{Shuffle: true}, ShuffleBuffer: iterable.Size{Rows: 5_000}, Choice: iterable.Choice{Filters: "hash(A) % 4 = 0"}}},
		{"lanes cut units", iterable.Options{Order: iterable.Order{Shuffle: true, Lanes: 5}, ShuffleBuffer: iterable.Size{Rows: 20_000}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Budget = iterable.NewBudget(0)
			ds := openTable(t, c.o, 0)
			var reserved int64
			read := func(kept bool) ([]string, int64) {
				l := newShop(t, ds, Options{BatchSize: 1000, NaN: true, Workers: 2, Features: tableFeatures(kept)})
				all, err := matrices(t, l, func() { reserved = max(reserved, c.o.Budget.Admitted()) })
				if err != nil {
					t.Fatal(err)
				}
				return all, l.Stats().Stream.Decoded
			}
			got, made := read(false)
			if peak := (*mem.Pool)(ds.Pool()).Stats().Peak; peak > reserved {
				t.Errorf("the pool held %s, reserved are %s", mem.Bytes(peak), mem.Bytes(reserved))
			}
			want, columns := read(true)
			if len(got) != len(want) || len(got) == 0 {
				t.Fatalf("%d batches, want %d", len(got), len(want))
			}
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("batch %d differs: %.60s, want %.60s", i, got[i], want[i])
				}
			}
			if made > columns*9/10 {
				t.Errorf("%d bytes in blocks, %d of the columns", made, columns)
			}
		})
	}
}

// A value that does not fit fails the batch that gets it, as where collate makes the matrix, and
// not those before.
func TestMatricesOfLoadsMisfit(t *testing.T) {
	ds := openTable(t, iterable.Options{Resources: iterable.Resources{Budget: iterable.NewBudget(0)}}, 1e39)
	read := func(kept bool) (int, string) {
		all, err := matrices(t, newShop(t, ds, Options{BatchSize: 1000, Features: tableFeatures(kept)}), func() {})
		if err == nil {
			t.Fatal("no error")
		}
		return len(all), err.Error()
	}
	before, want := read(true)
	got, text := read(false)
	if got != before || got != 2*tableGroups*tableRows/1000-1 || strings.ReplaceAll(text, `"x"`, "") != strings.ReplaceAll(want, `"x"`, "") {
		t.Errorf("%d batches and %s, want %d and %s", got, text, before, want)
	}
	if place := `mem://data/1.parquet: row group 2, column "F": row 11999 of the row group: 1e+39 does not fit float`; !strings.Contains(text, place) {
		t.Errorf("got %s, want %s", text, place)
	}
}
