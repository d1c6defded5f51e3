package loader

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

// The words are fixed for ever: a run that is resumed with a later version repeats its seeds.
func TestRowKeyGolden(t *testing.T) {
	for _, c := range []struct {
		key  rowKey
		want string
	}{
		{rowKey{}, "cbd37ad29b93b094 09bb71fb54596258"},
		{rowKey{seed: 1, epoch: 2, source: 3, row: 4, copy: 5, transform: 6}, "0bbe74ae704aa23f c51554ea29ba3b23"},
	} {
		t.Run(fmt.Sprintf("%+v", c.key), func(t *testing.T) {
			hi, lo := c.key.pcg()
			if got := fmt.Sprintf("%016x %016x", hi, lo); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestRowKeysDiffer(t *testing.T) {
	seen := map[uint64]rowKey{}
	for i := range 4 * 4 * 2 * 64 * 2 * 2 {
		k := rowKey{seed: uint64(i % 4), epoch: int64(i / 4 % 4), source: int32(i / 16 % 2), row: int64(i / 32 % 64), copy: i / 2048 % 2, transform: i / 4096}
		hi, _ := k.pcg()
		if other, ok := seen[hi]; ok {
			t.Fatalf("%+v and %+v are the same", k, other)
		}
		seen[hi] = k
	}
}

// seedsOf reads epochs on all ranks. It returns the seed of each product by its epoch, and checks
// what a transform of rows got.
func seedsOf(t *testing.T, ds *iterable.Dataset, o Options, epochs int) map[[2]int64]int64 {
	t.Helper()
	seeds := map[[2]int64]int64{}
	o.Seeds, o.Epochs = true, epochs
	o.Transforms = []Transform{{Name: "draw", Rows: func(_ context.Context, b *Batch, i int, r *rand.Rand) error {
		if i == 0 {
			b.Data = make([]uint64, b.Rows)
		}
		b.Data.([]uint64)[i] = r.Uint64()
		return nil
	}}}
	drawn := map[int64]uint64{} // by seed
	for o.Rank = range max(1, o.WorldSize) {
		for b, err := range newShop(t, ds, o).Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			a, err := b.Column(SeedColumn)
			if err != nil {
				t.Fatal(err)
			}
			values, err := column.Values[int64](a)
			if err != nil {
				t.Fatal(err)
			}
			times := map[int]int64{} // a carried epoch follows its own rows
			for i, p := range product(t, b)[:b.Valid] {
				k := [2]int64{b.Epoch + times[p], int64(p)}
				if before, ok := seeds[k]; ok && before == values[i] {
					t.Fatalf("product %d has its seed twice in epoch %d", p, k[0])
				} else if ok {
					k[0]++ // the batch before began this epoch
				}
				times[p]++
				seeds[k] = values[i]
				d := b.Data.([]uint64)[i]
				if before, ok := drawn[values[i]]; ok && before != d {
					t.Fatalf("product %d drew %d and %d", p, before, d)
				}
				drawn[values[i]] = d
			}
			b.Release()
		}
	}
	return seeds
}

// A row has the same seed whatever the world size, the batch size, the workers and the order.
func TestSeedsAreOfRows(t *testing.T) {
	ds, keyed := openShop(t, iterable.Options{Reading: iterable.Reading{RowIDs: true}}), openShop(t, iterable.Options{Reading: iterable.Reading{RowKeys: true}})
	want := seedsOf(t, ds, Options{BatchSize: 100}, 2)
	if len(want) != 2*shopRows {
		t.Fatalf("%d rows have seeds", len(want))
	}
	var all []int64
	for _, seed := range want {
		all = append(all, seed)
	}
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != 2*shopRows {
		t.Fatalf("%d different seeds of %d rows in 2 epochs", n, shopRows)
	}
	for _, c := range []struct {
		name string
		ds   *iterable.Dataset
		o    Options
	}{
		{"three ranks", ds, Options{BatchSize: 7, WorldSize: 3}},
		{"workers", ds, Options{BatchSize: 64, Workers: 2, Unordered: true}},
		{"without the ids", keyed, Options{BatchSize: 33, WorldSize: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := seedsOf(t, c.ds, c.o, 2)
			if len(got) != len(want) {
				t.Fatalf("%d rows have seeds, want %d", len(got), len(want))
			}
			for k, seed := range got {
				if want[k] != seed {
					t.Fatalf("epoch %d, product %d: seed %d, want %d", k[0], k[1], seed, want[k])
				}
			}
		})
	}
}

// A step that goes on into later epochs has their seeds.
func TestSeedsOfCarriedRows(t *testing.T) {
	for _, shuffled := range []bool{true, false} {
		t.Run(fmt.Sprint("shuffle ", shuffled), func(t *testing.T) {
			o := iterable.Options{Reading: iterable.Reading{RowIDs: true}, Order: iterable.Order{Tail: shuffle.Carry}}
			ds := openShopAs(t, o)
			if shuffled {
				ds = openShop(t, o)
			}
			want := seedsOf(t, ds, Options{BatchSize: 1, Tail: shuffle.Short}, 4)
			got := seedsOf(t, ds, Options{BatchSize: 900, Tail: shuffle.Carry}, 3)
			later := 0
			for k, seed := range got {
				if want[k] != seed {
					t.Fatalf("epoch %d, product %d: seed %d, want %d", k[0], k[1], seed, want[k])
				}
				if k[0] > 0 {
					later++
				}
			}
			if later < shopRows {
				t.Errorf("%d rows of later epochs", later)
			}
		})
	}
}

// The columns of row ids and of seeds come last, or not at all.
func TestSeedsColumns(t *testing.T) {
	for _, c := range []struct {
		name      string
		ids, keys bool
		o         Options
		want      string
	}{
		{"ids", true, false, Options{}, "unique_id price _row source"},
		{"seeds", false, true, Options{Seeds: true}, "unique_id price _seed"},
		{"both", true, true, Options{Seeds: true}, "unique_id price _row source _seed"},
		{"neither", false, true, Options{}, "unique_id price"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ds := openShop(t, iterable.Options{Reading: iterable.Reading{RowIDs: c.ids, RowKeys: c.keys, Columns: []string{"unique_id", "price"}}})
			c.o.BatchSize = 50
			for b, err := range newShop(t, ds, c.o).Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, a := range b.Columns {
					names = append(names, a.Field.Name)
				}
				if got := strings.Join(names, " "); got != c.want {
					t.Errorf("columns are %s, want %s", got, c.want)
				}
				b.Release()
				break
			}
		})
	}
}

func TestSeedsNeedRowIDs(t *testing.T) {
	ds := openShop(t, iterable.Options{Reading: iterable.Reading{Columns: []string{"price"}}})
	none := func(context.Context, *Batch, int, *rand.Rand) error { return nil }
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Seeds: true}, "Seeds needs a data set with RowKeys"},
		{Options{Transforms: []Transform{{Rows: none}}}, "Transforms[0].Rows needs a data set with RowKeys"},
		{Options{Transforms: []Transform{{Name: "both", Rows: none, Apply: jitter}}}, `must have a function Apply or Rows, "both" has both`},
		{Options{}, ""},
	} {
		t.Run(c.want, func(t *testing.T) {
			_, err := New(ds, c.o)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
