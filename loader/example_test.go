package loader_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
)

// One epoch of the test data's shop, shuffled, in batches of 500 rows: the mean price of each, and
// a tensor of token ids.
func Example() {
	ctx := context.Background()
	ds, err := iterable.Open(ctx, shard.Stores{"": local.Store{}}, []string{"../testdata/shop"}, iterable.Options{
		Reading: iterable.Reading{Columns: []string{"token_ids", "price"}}, Order: iterable.Order{Shuffle: true, Seed: 1},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer ds.Close()
	l, err := loader.New(ds, loader.Options{
		BatchSize: 500, Workers: 2, Pad: []loader.Padding{{Column: "token_ids", Multiple: 8}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()

	for b, err := range l.Batches(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		tokens, err := b.Column("token_ids")
		if err != nil {
			log.Fatal(err)
		}
		prices, err := column.Values[float64](b.Columns[1])
		if err != nil {
			log.Fatal(err)
		}
		sum, n := 0.0, 0
		for i, price := range prices {
			if !b.Columns[1].IsNull(i) {
				sum, n = sum+price, n+1
			}
		}
		fmt.Printf("step %d: %d rows, tokens [%d %d], %d prices, mean %.0f\n", b.Step, b.Rows, tokens.Len, tokens.Field.ListSize, n, sum/float64(n))
		b.Release()
	}
	// Output:
	// step 0: 500 rows, tokens [500 40], 456 prices, mean 20577
	// step 1: 500 rows, tokens [500 40], 448 prices, mean 20461
	// step 2: 500 rows, tokens [500 40], 446 prices, mean 19119
	// step 3: 500 rows, tokens [500 40], 458 prices, mean 19932
	// step 4: 26 rows, tokens [26 40], 24 prices, mean 16867
}
