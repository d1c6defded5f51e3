package loader

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/shuffle"
)

const shopRows = 2026

// openShop opens the small shop of the test data, shuffled. Its budget is checked to be free again
// at the end of the test.
func openShop(t testing.TB, o iterable.Options) *iterable.Dataset {
	t.Helper()
	o.Seed, o.Shuffle = 7, true
	if o.ShuffleBuffer.Rows == 0 {
		o.ShuffleBuffer.Rows = 600
	}
	return openShopAs(t, o)
}

// openShopInOrder opens it in file order.
func openShopInOrder(t testing.TB) *iterable.Dataset { return openShopAs(t, iterable.Options{}) }

func openShopAs(t testing.TB, o iterable.Options) *iterable.Dataset {
	t.Helper()
	return openData(t, shard.Stores{"": local.Store{}}, []string{"../testdata/shop"}, o)
}

// openData opens a data set, which must hold no memory when the test has closed it.
func openData(t testing.TB, stores shard.Stores, addresses []string, o iterable.Options) *iterable.Dataset {
	t.Helper()
	o.Budget = iterable.NewBudget(0)
	ds, err := iterable.Open(t.Context(), stores, addresses, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ds.Close(); err != nil {
			t.Error(err)
		}
		if n := o.Budget.Admitted(); n != 0 {
			t.Errorf("%d bytes are still reserved", n)
		}
		if n := (*mem.Pool)(ds.Pool()).Stats().InUse; n != 0 {
			t.Errorf("%d bytes of the pool are in use", n)
		}
	})
	return ds
}

func newShop(t testing.TB, ds *iterable.Dataset, o Options) *Loader {
	t.Helper()
	l, err := New(ds, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// product is the number of a row of the shop.
func product(t testing.TB, b *Batch) []int {
	t.Helper()
	unique, err := b.Column("unique_id")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := column.Bytes(unique)
	if err != nil {
		t.Fatal(err)
	}
	numbers := make([]int, ids.Len())
	for i := range numbers {
		if numbers[i], err = strconv.Atoi(strings.TrimPrefix(string(ids.At(i)), "N")); err != nil {
			t.Fatal(err)
		}
	}
	return numbers
}

// digest is a hash of all that a batch shows.
func digest(b *Batch) string {
	h := fnv.New64a()
	fmt.Fprint(h, b.Rows, b.Valid, b.Epoch, b.Step, b.Position, b.Data, string(b.State.JSON()))
	var add func(a *column.Array)
	add = func(a *column.Array) {
		fmt.Fprint(h, a.Field.Name, column.Shape(a), a.Nulls, a.Offsets)
		h.Write(a.Data)
		for i := range a.Len {
			h.Write([]byte(strconv.FormatBool(a.IsNull(i))))
		}
		for _, c := range a.Children {
			add(c)
		}
	}
	for _, a := range b.Columns {
		add(a)
	}
	return fmt.Sprintf("epoch %d, step %d: %x", b.Epoch, b.Step, h.Sum64())
}

// Every row once an epoch over two ranks, which make equally many steps and fill up the last.
func TestShopOnce(t *testing.T) {
	ds := openShop(t, iterable.Options{})
	for _, o := range []Options{{BatchSize: 32}, {BatchSize: 50, Workers: 3}, {BatchSize: 64, Workers: 2, Unordered: true}} {
		o.WorldSize, o.Epochs = 2, 2
		seen := map[[2]int]int{}
		for o.Rank = range 2 {
			l := newShop(t, ds, o)
			if want := int64(shopRows+2*o.BatchSize-1) / int64(2*o.BatchSize); l.Len() != want {
				t.Errorf("%d batches an epoch, want %d", l.Len(), want)
			}
			batches := int64(0)
			for b, err := range l.Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if b.Rows != o.BatchSize || len(b.Columns) != 6 {
					t.Errorf("got %v", b)
				}
				for _, id := range product(t, b)[:b.Valid] {
					seen[[2]int{int(b.Epoch), id}]++
				}
				batches++
				b.Release()
			}
			if batches != 2*l.Len() {
				t.Errorf("rank %d made %d batches", o.Rank, batches)
			}
		}
		if len(seen) != 2*shopRows {
			t.Errorf("%d of %d rows came", len(seen), 2*shopRows)
		}
		for at, n := range seen {
			if n != 1 {
				t.Fatalf("epoch %d: product %d came %d times", at[0], at[1], n)
			}
		}
	}
}

// One iteration after the other goes through one epoch after the other, and a first one that was
// left early goes on.
func TestShopEpochs(t *testing.T) {
	ds := openShop(t, iterable.Options{})
	l := newShop(t, ds, Options{BatchSize: 1000, Workers: 1, Epoch: 3})
	got := ""
	for range 4 {
		n := 0
		for b, err := range l.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got += fmt.Sprintf("%d/%d+%d ", b.Epoch, b.Step, b.Rows)
			b.Release()
			if n++; n == 2 {
				break
			}
		}
	}
	if want := "3/0+1000 3/1+1000 3/2+26 4/0+1000 4/1+1000 4/2+26 "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	l = newShop(t, ds, Options{BatchSize: 1000, Epochs: -1})
	n := 0
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
		if n++; n == 10 {
			if b.Epoch != 3 {
				t.Errorf("batch 9 is of epoch %d", b.Epoch)
			}
			break
		}
	}
}

// What a rank gets of a last step of one row, by tail.
func TestShopTails(t *testing.T) {
	ds := openShop(t, iterable.Options{})
	for _, c := range []struct {
		o    Options
		want [3]string // of each rank: rows and valid rows, by step
	}{
		{Options{}, [3]string{"675/675 675/1 ", "675/675 675/0 ", "675/675 675/0 "}},
		{Options{DropLast: true}, [3]string{"675/675 ", "675/675 ", "675/675 "}},
		{Options{Tail: shuffle.Short}, [3]string{"675/675 1/1 ", "675/675 0/0 ", "675/675 0/0 "}},
		{Options{Tail: shuffle.Carry, Epochs: 2}, [3]string{"675/675 675/675 ", "675/675 675/675 ", "675/675 675/675 "}},
	} {
		for rank := range 3 {
			c.o.BatchSize, c.o.WorldSize, c.o.Rank, c.o.Workers = 675, 3, rank, rank
			c.o.Pad = []Padding{{Column: "token_ids"}}
			got := ""
			for b, err := range newShop(t, ds, c.o).Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				got += fmt.Sprintf("%d/%d ", b.Rows, b.Valid)
				b.Release()
			}
			if got != c.want[rank] {
				t.Errorf("drop last %t, tail %q, rank %d: got %s, want %s", c.o.DropLast, c.o.Tail, rank, got, c.want[rank])
			}
		}
	}
}

// randomly is what a resumed run has to repeat.
func randomly(_ context.Context, b *Batch, r *rand.Rand) error {
	noise, err := AddTensor[float64](b, "noise", 2)
	for i := range noise {
		noise[i] = r.NormFloat64()
	}
	return err
}

// A run that resumes after any batch gets the same batches, random numbers and states included,
// with any number of workers.
func TestShopResume(t *testing.T) {
	ds := openShop(t, iterable.Options{})
	o := Options{
		BatchSize: 96, Epochs: 2, Transforms: []Transform{{Apply: randomly}},
		Pad: []Padding{{Column: "token_ids", Multiple: 8, Mask: "token_mask"}},
	}
	var want []string
	var states []shuffle.State
	for b, err := range newShop(t, ds, o).Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		want, states = append(want, digest(b)), append(states, b.State)
		b.Release()
	}
	if len(want) != 44 {
		t.Fatalf("%d batches", len(want))
	}
	for i, state := range states[:len(states)-1] {
		if testing.Short() && i%7 != 0 {
			continue
		}
		o := o
		o.State, o.Workers, o.Epochs = &state, i%4, 2-int(state.Epoch)
		next := i + 1
		for b, err := range newShop(t, ds, o).Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if got := digest(b); got != want[next] {
				t.Fatalf("resumed after batch %d:\n got %s\nwant %s", i, got, want[next])
			}
			b.Release()
			next++
			if next == i+4 && i%5 != 0 {
				break
			}
		}
		if i%5 == 0 && next != len(want) {
			t.Errorf("resumed after batch %d, it ended after batch %d", i, next-1)
		}
	}
}

// The padded column holds what the ragged one does.
func TestShopPad(t *testing.T) {
	ds := openShop(t, iterable.Options{})
	ragged := newShop(t, ds, Options{BatchSize: 100})
	padded := newShop(t, ds, Options{BatchSize: 100, Workers: 2, Pad: []Padding{{Column: "token_ids", Value: -1, Max: 24, Multiple: 8, Left: true}}})
	want := map[int][]int32{}
	for b, err := range ragged.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		tokens := listsOf(t, b.Columns[3])
		for i, id := range product(t, b) {
			want[id] = slices.Clone(tokens[i][:min(24, len(tokens[i]))])
		}
		b.Release()
	}
	for b, err := range padded.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		tensor, err := b.Column("token_ids")
		if err != nil {
			t.Fatal(err)
		}
		if s := column.Shape(tensor); s[1] != 24 {
			t.Errorf("shape %v", s)
		}
		tokens := listsOf(t, tensor)
		for i, id := range product(t, b) {
			full := slices.Repeat([]int32{-1}, 24)
			copy(full[24-len(want[id]):], want[id])
			if !slices.Equal(tokens[i], full) {
				t.Fatalf("product %d: got %v, want %v", id, tokens[i], full)
			}
		}
		b.Release()
	}
}

// allocationsOf is how many allocations a batch takes, once scratch has grown.
func allocationsOf(t *testing.T, ds *iterable.Dataset, c *collator, runs, batchSize int) float64 {
	t.Helper()
	s, err := ds.Stream(t.Context(), shuffle.Worker{}, iterable.StreamOptions{BatchSize: batchSize, Draws: runs + 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var draws []*iterable.Draw
	for range runs + 2 {
		d, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		draws = append(draws, d)
	}
	memory := newPooled((*mem.Pool)(ds.Pool()), make(chan struct{}, 1), (*mem.Account)(s.Account()))
	do := func() {
		d := draws[0]
		draws = draws[1:]
		m, err := memory.Begin(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.do(t.Context(), d, m, &activity{})
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
	}
	do()
	return testing.AllocsPerRun(runs, do)
}

// What it takes to make a batch does not depend on its number of rows.
func TestShopAllocations(t *testing.T) {
	ds := openShop(t, iterable.Options{ShuffleBuffer: iterable.Size{Rows: 4000}})
	r, err := newRecipe(ds.Schema(), Options{
		Pad: []Padding{{Column: "token_ids", Mask: "mask"}}, Transforms: []Transform{{Apply: randomly}},
	})
	if err != nil {
		t.Fatal(err)
	}
	allocations := func(batchSize int) float64 {
		return allocationsOf(t, ds, r.newCollator((*mem.Pool)(ds.Pool())), 6, batchSize)
	}
	small, large := allocations(20), allocations(200)
	if large > small+4 || small > 90 {
		t.Errorf("%v allocations for a batch of 20 rows, %v for one of 200", small, large)
	}
	t.Logf("%v allocations for a batch of 20 rows, %v for one of 200", small, large)
}

func TestNewRefuses(t *testing.T) {
	ds := openShop(t, iterable.Options{})
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{BatchSize: -1}, "BatchSize must not be negative, got -1"},
		{Options{Pad: []Padding{{Column: "title"}}}, `Pad["title"] does not apply: it is string; only ragged lists are padded`},
		{Options{BatchSize: 5000, DropLast: true}, "fewer than one global batch of 5000 rows"},
	} {
		if _, err := New(ds, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// The plan counts what the loader's stream will reserve.
func TestShopPlan(t *testing.T) {
	ds := openShop(t, iterable.Options{})
	small, err := Plan(ds, Options{BatchSize: 64})
	if err != nil {
		t.Fatal(err)
	}
	large, err := Plan(ds, Options{BatchSize: 64, Workers: 4})
	if err != nil {
		t.Fatal(err)
	}
	if small.Steps != newShop(t, ds, Options{BatchSize: 64}).Len() {
		t.Errorf("%d steps", small.Steps)
	}
	if s, l := small.Bound[mem.Batch], large.Bound[mem.Batch]; s == 0 || l <= s {
		t.Errorf("%d bytes for batches without workers, %d with four", s, l)
	}
	if _, err := Plan(ds, Options{Workers: -1}); err == nil {
		t.Error("a plan was made of bad options")
	}
}

// A stream that does not fit in memory is the first element's error, and says the numbers.
func TestShopMemoryTooSmall(t *testing.T) {
	l := newShop(t, openShop(t, iterable.Options{Resources: iterable.Resources{Memory: 100 << 10}}), Options{BatchSize: 64})
	_, err := steps(t.Context(), l)
	var over *iterable.MemoryError
	if !errors.As(err, &over) {
		t.Errorf("got %v", err)
	}
}
