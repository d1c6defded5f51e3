package loader

import (
	"context"
	"errors"
	"testing"

	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shuffle"
)

// The rows of a bucket's sample are those of the batch: each of the shop comes once, padded lists
// keep within the budget, and seeds are those of the rows.
func TestBatchesOfBuckets(t *testing.T) {
	const budget = 400
	o := iterable.Options{
		Reading: iterable.Reading{Columns: []string{"unique_id", "token_ids"}, RowKeys: true}, Order: iterable.Order{Tail: shuffle.Pad}, ShuffleBuffer: iterable.Size{Rows: 30},
		Bucket: &rule.Bucket{Columns: map[string]int{"token_ids": budget}, Multiple: 8},
	}
	seeds := func(l *Loader) map[int]int64 {
		all := map[int]int64{}
		for b, err := range l.Batches(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			keys := values[int64](t, b, SeedColumn)
			for i, id := range product(t, b)[:b.Valid] {
				if _, twice := all[id]; twice {
					t.Fatalf("row %d twice", id)
				}
				all[id] = keys[i]
			}
			if o.Bucket != nil && b.Valid > 0 && b.Valid != b.Rows {
				t.Fatalf("%d of %d rows count", b.Valid, b.Rows)
			}
			for _, c := range b.Columns {
				if c.Len != b.Rows {
					t.Fatalf("column %q has %d of %d rows", c.Field.Name, c.Len, b.Rows)
				}
			}
			if tokens, err := b.Column("token_ids"); err != nil || o.Bucket != nil && b.Rows > 1 && b.Rows*tokens.Field.ListSize > budget {
				t.Fatalf("%v, %v", b, err)
			}
			b.Release()
		}
		return all
	}
	options := Options{Tail: shuffle.Pad, Seeds: true, Pad: []Padding{{Column: "token_ids", Multiple: 8}}}
	ds := openShop(t, o)
	steps, all := map[int]int64{}, map[int]int64{}
	for rank := range 2 {
		options.Rank, options.WorldSize = rank, 2
		l := newShop(t, ds, options)
		steps[int(l.Len())]++
		for id, seed := range seeds(l) {
			all[id] = seed
		}
	}
	if len(all) != shopRows || len(steps) != 1 {
		t.Errorf("%d rows in %v steps", len(all), steps)
	}
	o.Bucket, options.Rank, options.WorldSize, options.BatchSize = nil, 0, 1, 50
	for id, seed := range seeds(newShop(t, openShop(t, o), options)) {
		if all[id] != seed {
			t.Fatalf("row %d has seed %d, without buckets %d", id, all[id], seed)
		}
	}
	_, err := New(ds, Options{BatchSize: 8})
	var wrong *iterable.OptionError
	if !errors.As(err, &wrong) || wrong.Field != "BatchSize" {
		t.Errorf("error %v", err)
	}
}

// Under the tail carry a step may go on into the next epoch: its rows have that epoch's seeds.
func TestSeedsOfCarriedBuckets(t *testing.T) {
	o := iterable.Options{Reading: iterable.Reading{Columns: []string{"unique_id", "token_ids"}, RowKeys: true}, Order: iterable.Order{Tail: shuffle.Carry}, Bucket: &rule.Bucket{Columns: map[string]int{"token_ids": 400}}}
	ds := openShop(t, o)
	seeds := map[int]map[int64]int{} // of each row
	carried := false
	for rank := range 3 {
		l := newShop(t, ds, Options{Tail: shuffle.Carry, Seeds: true, Epochs: 3, Rank: rank, WorldSize: 3})
		for b, err := range l.Batches(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			keys := values[int64](t, b, SeedColumn)
			for i, id := range product(t, b) {
				if seeds[id] == nil {
					seeds[id] = map[int64]int{}
				}
				seeds[id][keys[i]]++
			}
			carried = carried || b.Position+3 > ds.NumSamples()
			b.Release()
		}
	}
	for id, all := range seeds {
		for seed, n := range all {
			if n > 1 {
				t.Fatalf("row %d has seed %d in %d epochs", id, seed, n)
			}
		}
	}
	if !carried {
		t.Error("no step went on into the next epoch")
	}
}
