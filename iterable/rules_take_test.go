package iterable

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// By number a data set has the rows that its rule keeps, in the order of the files, and each has
// its place.
func TestTakerUnderRules(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 2))
	table := ruledRows(t, r, [][]int{{60, 130, 1}, {40, 40, 40}, {300}, {7, 60, 3, 12, 19}})
	for n := range 30 {
		o := Options{Reading: Reading{Columns: []string{"id", "label", "image"}, RowIDs: n%3 == 0}, Order: Order{UnitRows: []int64{0, 17}[n%2]}}
		times := table.randomRule(t, r, &o)
		if o.Weight != "" {
			continue
		}
		var kept []int64
		for id, k := range times {
			if k > 0 {
				kept = append(kept, int64(id))
			}
		}
		if len(kept) == 0 {
			continue
		}
		x := taker(t, open(t, table.store, o), TakerOptions{})
		if x.Len() != int64(len(kept)) {
			t.Fatalf("%d rows, want %d", x.Len(), len(kept))
		}
		rows := randomRows(r, x.Len(), 40)
		want := make([]int64, len(rows))
		for i, row := range rows {
			want[i] = kept[row]
		}
		d, err := x.Take(t.Context(), rows)
		if err != nil {
			t.Fatal(err)
		}
		if got := ids(t, x.dataset.Schema(), d); !slices.Equal(got, want) {
			t.Fatalf("rows %v are %v, want %v", rows, got, want)
		}
		d.Release()
		for _, row := range rows[:5] {
			at, err := x.Locate(t.Context(), row)
			if err != nil {
				t.Fatal(err)
			}
			g := at.RowGroup
			for _, sizes := range table.groups[:at.Shard] {
				g += len(sizes)
			}
			first := int64(0)
			for _, n := range slices.Concat(table.groups...)[:g] {
				first += int64(n)
			}
			if id := first + at.Lo; id != kept[row] || at.Hi != at.Lo+1 {
				t.Errorf("row %d is at %+v, which is id %d, want %d", row, at, id, kept[row])
			}
		}
	}
}
