package gpu_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shardfeed/shardfeed/gpu"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
)

// One epoch of the test data's shop on a device: the host, so that the example runs anywhere.
// cuda.Choose("auto") of package gpu/cuda is a GPU where there is one.
func Example() {
	ctx := context.Background()
	ds, err := iterable.Open(ctx, shard.Stores{"": local.Store{}}, []string{"../testdata/shop"}, iterable.Options{
		Reading: iterable.Reading{Columns: []string{"token_ids", "price"}}, Order: iterable.Order{Shuffle: true, Seed: 1},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer ds.Close()
	dev := gpu.OpenHost()
	defer dev.Close()
	l, err := gpu.New(ds, dev, gpu.Options{Loader: loader.Options{
		BatchSize: 500, Workers: 2, Pad: []loader.Padding{{Column: "token_ids", Multiple: 8}},
	}})
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
		t, err := tokens.Tensor() // for a kernel, or for a library that takes DLPack's tensors
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("step %d: %d rows on %s, tokens %v, %d bits each\n", b.Step, b.Rows, dev.Info().Name, t.Shape, t.Type.Bits)
		b.Release()
	}
	fmt.Printf("%d bytes copied on the host after collation\n", l.Stats().HostCopied)
	// Output:
	// step 0: 500 rows on host, tokens [500 40], 32 bits each
	// step 1: 500 rows on host, tokens [500 40], 32 bits each
	// step 2: 500 rows on host, tokens [500 40], 32 bits each
	// step 3: 500 rows on host, tokens [500 40], 32 bits each
	// step 4: 26 rows on host, tokens [26 40], 32 bits each
	// 0 bytes copied on the host after collation
}
