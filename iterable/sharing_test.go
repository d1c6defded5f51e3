package iterable

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shuffle"
)

// Ranks of one process that go in step decode each row group once between them, and each gets its
// rows.
func TestRanksShareBlocksInFileOrder(t *testing.T) {
	d := open(t, files(t, slices.Repeat([][]int{{64, 64, 64, 64}}, 4), noImage), Options{})
	const world = 4
	var streams []*Stream
	for rank := range world {
		streams = append(streams, stream(t, d, shuffle.Worker{Rank: rank, WorldSize: world}, StreamOptions{BatchSize: 4, Epochs: 2}))
	}
	var want int64
	for {
		var draws []*Draw
		for _, s := range streams {
			if dr, err := s.Next(t.Context()); err == nil {
				draws = append(draws, dr)
			}
		}
		if len(draws) == 0 {
			break
		}
		for _, dr := range draws {
			for _, id := range ids(t, d.Schema(), dr) {
				if id != want%1024 {
					t.Fatalf("row %d, want %d", id, want%1024)
				}
				want++
			}
			dr.Release()
		}
	}
	if want != 2048 {
		t.Errorf("%d rows came", want)
	}
	var units int64
	for _, s := range streams {
		units += s.Stats().Units
		s.Close()
	}
	if units > 40 { // 32, and units that one rank had freed before another came
		t.Errorf("%d units were decoded, of 16 in two epochs", units)
	}
	if n := sharedBlocks(d); n != 0 {
		t.Errorf("%d blocks are still known", n)
	}
}

// sharedBlocks is the number of blocks that the streams of a data set know.
func sharedBlocks(d *Dataset) int {
	return reflect.ValueOf(&d.sharing).Elem().FieldByName("blocks").Len()
}

// Ranks that go at their own pace, of which some stop early, neither wait for one another for ever
// nor leave anything.
func TestSharingAtRandomPaces(t *testing.T) {
	groups, _ := uneven()
	d := open(t, files(t, groups, noImage), Options{Order: Order{Tail: "pad"}})
	for round := range 4 {
		var ranks sync.WaitGroup
		for rank := range 5 {
			s := stream(t, d, shuffle.Worker{Rank: rank, WorldSize: 5}, StreamOptions{BatchSize: 3, Epochs: 2, Parallel: 1 + rank%2})
			ranks.Go(func() {
				r := rand.New(rand.NewPCG(uint64(round), uint64(rank)))
				for n := r.IntN(150); n > 0; n-- {
					dr, err := s.Next(context.Background())
					if err != nil {
						break
					}
					if r.IntN(10) == 0 {
						time.Sleep(time.Duration(r.IntN(500)) * time.Microsecond)
					}
					dr.Release()
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		ranks.Wait()
		if n := sharedBlocks(d); n != 0 {
			t.Fatalf("%d blocks are still known", n)
		}
	}
}
