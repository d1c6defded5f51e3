package shardfeed_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/loader"
)

// The batches of one of eight ranks, shuffled, from a directory on this machine. On s3:// or
// hdfs:// the same program reads through a cache on the local disk.
func Example() {
	ctx := context.Background()
	ds, err := shardfeed.Open(ctx, shardfeed.Spec{
		Addresses: []string{"testdata/shop"}, Columns: []string{"token_ids", "price"}, Order: shardfeed.Order{Shuffle: true, Seed: 7},
	}, shardfeed.Events{})
	if err != nil {
		log.Fatal(err)
	}
	defer ds.Close(ctx)

	batches, err := loader.New(ds.Dataset, loader.Options{
		BatchSize: 100, Workers: 2, Rank: 0, WorldSize: 8, UntilEpoch: 1,
		Pad: []loader.Padding{{Column: "token_ids", Multiple: 8}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer batches.Close()

	for batch, err := range batches.Batches(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		prices, err := column.Values[float64](batch.Columns[1]) // no copy: the batch's own memory
		if err != nil {
			log.Fatal(err)
		}
		state := batch.State.JSON() // resumes after this batch
		fmt.Println(len(prices), "prices,", batch.Valid, "rows count, a small state:", len(state) < 1024)
		batch.Release()
	}
	// Output:
	// 100 prices, 100 rows count, a small state: true
	// 100 prices, 100 rows count, a small state: true
	// 100 prices, 54 rows count, a small state: true
}
