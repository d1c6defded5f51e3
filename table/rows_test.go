package table

import (
	"math/rand/v2"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A set has the rows of a map that gets the same ranges.
func TestRows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var set Rows
		want := map[int64]bool{}
		for range random.IntN(8) {
			lo := random.Int64N(400)
			hi := lo + random.Int64N(150)
			added := int64(0)
			for row := lo; row < hi; row++ {
				if !want[row] {
					want[row] = true
					added++
				}
			}
			if got := set.Add(lo, hi); got != added {
				t.Fatalf("Add(%d, %d) = %d, want %d", lo, hi, got, added)
			}
		}
		last := int64(-1)
		for lo, hi := range set.Runs() {
			if lo <= last || hi <= lo || want[hi] {
				t.Fatalf("a run of %d to %d after %d", lo, hi, last)
			}
			for row := last; row < hi; row++ {
				if want[row] != (row >= lo) {
					t.Fatalf("row %d in the run %d to %d: %v", row, lo, hi, want[row])
				}
			}
			last = hi
		}
		for row := range want {
			if row >= last {
				t.Fatalf("row %d is after all runs", row)
			}
		}
		if set.Len() != int64(len(want)) {
			t.Fatalf("%d rows, want %d", set.Len(), len(want))
		}
		for row := range int64(700) {
			if set.Has(row) != want[row] || set.Word(row)&1 == 1 != want[row] {
				t.Fatalf("row %d: %v, %x, want %v", row, set.Has(row), set.Word(row), want[row])
			}
			if set.Word(row)>>63 == 1 != want[row+63] {
				t.Fatalf("the last bit of the word at %d", row)
			}
			if want[row] && row >= set.End() {
				t.Fatalf("row %d is at or above the end, %d", row, set.End())
			}
		}
	}
}
