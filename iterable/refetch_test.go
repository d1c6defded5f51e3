package iterable

import (
	"fmt"
	"testing"

	"github.com/shardfeed/shardfeed/shard/shardtest"
	"github.com/shardfeed/shardfeed/shuffle"
)

// TestDamagedAnswersPass: answers that are damaged on their way are asked for again, footers
// included, and no row is lost or an error.
func TestDamagedAnswersPass(t *testing.T) {
	groups, _ := uneven()
	store := files(t, groups, noImage)
	for _, onError := range []OnError{Raise, Skip} {
		o := Options{Order: Order{Shuffle: true, Seed: 11, Lanes: 4}, ShuffleBuffer: Size{Rows: 120}, Losses: Losses{OnError: onError}}
		so := StreamOptions{BatchSize: 9, Epochs: 1}
		want := fmt.Sprint(rest(t, stream(t, open(t, store, o), shuffle.Worker{}, so)))
		for _, from := range []int{1, 2, 3, 4, 5, 6, 8, 11} {
			for _, damage := range []shardtest.Damage{shardtest.Flipped, shardtest.Zeroed} {
				faults := shardtest.NewFaults(plain{store}, shardtest.Rule{Op: shardtest.OpRead, Path: "/part-004.parquet", Damage: damage, From: from, Count: 1})
				d := open(t, faults, o)
				if got := fmt.Sprint(rest(t, stream(t, d, shuffle.Worker{}, so))); got != want {
					t.Errorf("%s, damage %d from read %d on: other rows", onError, damage, from)
				}
				if lost := d.Losses(); len(lost) > 0 {
					t.Errorf("%s, damage %d from read %d on: lost %v", onError, damage, from, lost)
				}
			}
		}
	}
}
