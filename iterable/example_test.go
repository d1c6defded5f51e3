package iterable_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"

	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Rank 1 of 2 takes its rows of each step, shuffled, and could go on from any state.
func Example() {
	ctx := context.Background()
	ds, err := iterable.Open(ctx, shard.Stores{"": local.Store{}}, []string{"../testdata/shop"}, iterable.Options{
		Reading: iterable.Reading{Columns: []string{"unique_id", "label"}}, Order: iterable.Order{Shuffle: true, Seed: 7},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer ds.Close()
	steps, err := ds.Len(32, 2, "")
	if err != nil {
		log.Fatal(err)
	}
	stream, err := ds.Stream(ctx, shuffle.Worker{Rank: 1, WorldSize: 2}, iterable.StreamOptions{BatchSize: 32})
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	rows := 0
	for {
		draw, err := stream.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		rows += draw.Valid
		draw.Release()
	}
	state := stream.State()
	fmt.Printf("%d rows in %d steps; next: epoch %d at position %d\n", rows, steps, state.Epoch, state.Position)
	// Output: 992 rows in 31 steps; next: epoch 1 at position 0
}
