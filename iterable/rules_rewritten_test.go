package iterable

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// rewritten is the table of the samples alone, with a row group for each unit.
func (table *ruledTable) rewritten(t *testing.T, d *Dataset, samples [][]int64) *memstore.Store {
	t.Helper()
	units, err := d.sources[0].cut(d.options.UnitRows)
	if err != nil {
		t.Fatal(err)
	}
	store := &memstore.Store{}
	for s, u := 0, 0; s < len(d.sources[0].data.Shards); s++ {
		var b bytes.Buffer
		w := parquet.NewGenericWriter[ruledRow](&b)
		for ; u < units.Len() && int(d.sources[0].data.Groups[units.At(u).Group].Shard) == s; u++ {
			for _, id := range samples[u] {
				if _, err := w.Write(table.rows[id : id+1]); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		store.Put(fmt.Sprintf("data/part-%03d.parquet", s), b.Bytes())
	}
	return store
}

// The rows of a filtered table come in the order of the table that was rewritten to them, with a
// row group for each unit: on each rank, step by step. Only within units that are slices of row
// groups rows have another order, since that follows from the slice.
func TestFilteredOrderIsThatOfTheRewrittenTable(t *testing.T) {
	table := ruledRows(t, rand.New(rand.NewPCG(7, 1)), [][]int{{60, 130, 40}, {40, 40, 40}, {300}, {70, 60, 33, 52, 49}})
	times := make([]int, len(table.rows))
	for i, row := range table.rows {
		if row.User < 10 {
			times[i] = 1
		}
	}
	for _, unitRows := range []int64{0, 45} {
		for _, shuffled := range []bool{true, false} {
			for _, tail := range []shuffle.Tail{shuffle.Drop, shuffle.Pad, shuffle.Short, shuffle.Carry} {
				t.Run(fmt.Sprintf("units of %d/shuffle %t/%s", unitRows, shuffled, tail), func(t *testing.T) {
					o := Options{
						Reading: Reading{Columns: []string{"id", "label", "image"}}, Order: Order{Shuffle: shuffled, Seed: 5, Lanes: 4, Tail: tail, UnitRows: unitRows}, ShuffleBuffer: Size{Rows: 60},
						Choice: Choice{Filters: "user < 10"},
					}
					filtered := open(t, table.store, o)
					units, err := filtered.sources[0].cut(unitRows)
					if err != nil {
						t.Fatal(err)
					}
					samples := samplesOf(filtered, units.List(), times)
					if slices.ContainsFunc(samples, func(u []int64) bool { return len(u) == 0 }) {
						t.Fatal("a unit has no sample, and no row group can stand for it")
					}
					o.Filters, o.UnitRows = "", 0
					plain := open(t, table.rewritten(t, filtered, samples), o)
					if plain.NumRows() != filtered.NumSamples() || plain.NumRows() == filtered.NumRows() {
						t.Fatalf("%d rows are written, %d are kept", plain.NumRows(), filtered.NumSamples())
					}
					for rank := range 3 {
						w, so := shuffle.Worker{Rank: rank, WorldSize: 3}, StreamOptions{BatchSize: 5, Epochs: 2}
						got, want := rest(t, stream(t, filtered, w, so)), rest(t, stream(t, plain, w, so))
						if unitRows > 0 && shuffled {
							unitsOf(samples, got)
							unitsOf(samples, want)
						}
						if fmt.Sprint(got) != fmt.Sprint(want) || len(got) == 0 {
							t.Fatalf("rank %d:\n%v, want\n%v", rank, got, want)
						}
					}
				})
			}
		}
	}
}

// unitsOf replaces the ids of draws by the units that have them.
func unitsOf(samples [][]int64, draws []drawn) {
	for _, x := range draws {
		for i, id := range x.ids {
			x.ids[i] = int64(slices.IndexFunc(samples, func(u []int64) bool { return slices.Contains(u, id) }))
		}
	}
}

// Under a filter every step can be resumed on any number of ranks: what follows is what would have
// followed.
func TestRuledResumeAtEveryStep(t *testing.T) {
	store := files(t, [][]int{{12, 25}, {20}, {39, 1, 44}}, noImage)
	for _, tail := range []shuffle.Tail{shuffle.Drop, shuffle.Pad, shuffle.Short, shuffle.Carry} {
		for _, shuffled := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/shuffle %t", tail, shuffled), func(t *testing.T) {
				d := open(t, store, Options{Order: Order{Shuffle: shuffled, Seed: 3, Tail: tail, Lanes: 4}, ShuffleBuffer: Size{Rows: 20}, Choice: Choice{Filters: "hash(id) % 3 = 0"}})
				const g = 6
				want, _ := globalRows(t, d, 2, StreamOptions{BatchSize: g / 2}, 0)
				if len(want) < 5 {
					t.Fatalf("%d steps", len(want))
				}
				for at := range len(want) {
					_, state := globalRows(t, d, 2, StreamOptions{BatchSize: g / 2}, at+1)
					for _, world := range []int{1, 3, 6} {
						got, _ := globalRows(t, d, world, StreamOptions{BatchSize: g / world, State: reparse(t, state)}, len(want)-at-1)
						if at+1 == len(want) {
							continue // what follows is the next epoch's
						}
						if fmt.Sprint(got) != fmt.Sprint(want[at+1:]) {
							t.Fatalf("after step %d on %d ranks: %v, want %v", at+1, world, got, want[at+1:])
						}
					}
				}
			})
		}
	}
}
