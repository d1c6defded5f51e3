package iterable

import (
	"testing"

	"github.com/shardfeed/shardfeed/shuffle"
)

// A rank without rows in any epoch makes its steps in an endless stream, and its goroutines end.
func TestIdleRank(t *testing.T) {
	store := files(t, [][]int{{1}}, noImage)
	for name, shuffled := range map[string]bool{"shuffled": true, "in order": false} {
		t.Run(name, func(t *testing.T) {
			d := open(t, store, Options{Order: Order{Shuffle: shuffled}})
			rows := 0
			for rank := range 3 {
				s := stream(t, d, shuffle.Worker{Rank: rank, WorldSize: 3}, StreamOptions{BatchSize: 2, Epochs: -1, Tail: shuffle.Pad})
				for epoch := range int64(4) {
					dr, err := s.Next(t.Context())
					if err != nil || dr.Epoch != epoch || dr.Rows != 2 {
						t.Fatalf("rank %d: %+v, %v", rank, dr, err)
					}
					rows += dr.Valid
					dr.Release()
				}
				s.Close()
			}
			if rows != 4 {
				t.Errorf("%d rows in 4 epochs", rows)
			}
		})
	}
}
