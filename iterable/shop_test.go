package iterable

import (
	"fmt"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/shuffle"
)

// The files of the shop, written by other programs and mapped from the disk: each product comes
// once an epoch, on three ranks.
func TestShop(t *testing.T) {
	for _, shuffled := range []bool{true, false} {
		t.Run(fmt.Sprintf("shuffle %t", shuffled), func(t *testing.T) {
			d, err := Open(t.Context(), shard.Stores{"": local.Store{}}, []string{"../testdata/shop"}, Options{Order: Order{Shuffle: shuffled, Tail: "short"}})
			if err != nil {
				t.Fatal(err)
			}
			schema := d.Schema()
			seen := map[string]int{}
			var blocks int64
			for rank := range 3 {
				s := stream(t, d, shuffle.Worker{Rank: rank, WorldSize: 3}, StreamOptions{BatchSize: 50})
				var g rowgroup.Gatherer
				for {
					dr, err := s.Next(t.Context())
					if err != nil {
						break
					}
					rows := make([]string, dr.Rows)
					for i, f := range schema.Fields {
						a, err := g.Gather(i, f, dr.Blocks, dr.Picks, func(n int) ([]byte, error) { return make([]byte, n), nil })
						if err != nil {
							t.Fatal(err)
						}
						for k := range rows {
							if f.Kind == column.Binary {
								rows[k] += fmt.Sprintf("%q ", a.Data[a.Offsets[k]:a.Offsets[k+1]])
							} else if f.Kind == column.Fixed {
								rows[k] += fmt.Sprintf("%x ", a.Data[k*f.Width:(k+1)*f.Width])
							}
						}
					}
					for _, r := range rows {
						seen[r]++
					}
					dr.Release()
				}
				blocks += s.Stats().Units
				s.Close()
			}
			if int64(len(seen)) != d.NumRows() || d.NumRows() < 1000 {
				t.Errorf("shuffle %t: %d different rows of %d", shuffled, len(seen), d.NumRows())
			}
			for r, n := range seen {
				if n != 1 {
					t.Fatalf("shuffle %t: %d times %.200s", shuffled, n, r)
				}
			}
			if blocks == 0 {
				t.Error("nothing was decoded")
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
