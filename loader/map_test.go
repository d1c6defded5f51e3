package loader

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

func newShopMap(t testing.TB, ds *iterable.Dataset, o MapOptions) *Map {
	t.Helper()
	m, err := NewMap(ds, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// shopTable is what show prints of each row of the shop, in file order.
func shopTable(t testing.TB) []string {
	t.Helper()
	l := newShop(t, openShopInOrder(t), Options{BatchSize: 100})
	var rows []string
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, shown(b)...)
		b.Release()
	}
	return rows
}

func shown(b *Batch) []string {
	rows := make([]string, b.Rows)
	for i := range rows {
		for _, a := range b.Columns {
			rows[i] += showAt(a, i) + "; "
		}
	}
	return rows
}

func TestMapReturnsRowsByNumber(t *testing.T) {
	want := shopTable(t)
	m := newShopMap(t, openShop(t, iterable.Options{}), MapOptions{}) // shuffle has no part in it
	if m.Len() != shopRows {
		t.Fatalf("%d rows", m.Len())
	}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for range 10 {
				rows := make([]int64, r.IntN(200))
				for k := range rows {
					rows[k] = r.Int64N(shopRows)
				}
				b, err := m.Batch(t.Context(), rows)
				if err != nil {
					t.Error(err)
					return
				}
				for k, got := range shown(b) {
					if got != want[rows[k]] {
						t.Errorf("row %d is %s, want %s", rows[k], got, want[rows[k]])
						return
					}
				}
				if b.Rows != len(rows) || b.Valid != len(rows) || b.Epoch != -1 || b.Step != -1 || b.Position != -1 {
					t.Errorf("%d rows, %d valid, epoch %d, step %d, position %d", b.Rows, b.Valid, b.Epoch, b.Step, b.Position)
				}
				b.Release()
			}
		})
	}
	all.Wait()
}

// columnsOf is the values of a batch with the shapes of its columns.
func columnsOf(b *Batch) string {
	all := fmt.Sprint(b.Rows, b.Valid)
	for _, a := range b.Columns {
		all += fmt.Sprint("; ", a.Field.Name, a.Field, a.Field.ListSize, show(a))
	}
	return all
}

// Padding, fills and the layout of columns are those of a loader.
func TestMapBatchesAreThoseOfALoader(t *testing.T) {
	o := Options{BatchSize: 300, NaN: true, Pad: []Padding{{Column: "token_ids", Multiple: 8}}}
	ds := openShopInOrder(t)
	l := newShop(t, ds, o)
	m := newShopMap(t, ds, MapOptions{NaN: true, Pad: o.Pad, Workers: 2})
	lists := Batched(Sequential{N: m.Len()}.Rows(0), 300, false)
	var got []string
	for b, err := range m.Batches(t.Context(), lists) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, columnsOf(b))
		b.Release()
	}
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if want := columnsOf(b); len(got) == 0 || got[0] != want {
			t.Fatalf("step %d differs", b.Step)
		}
		got = got[1:]
		b.Release()
	}
	if len(got) != 0 {
		t.Errorf("%d batches are left", len(got))
	}
}

// An error of Batches is that of one list; the next lists follow.
func TestMapBatchesGoOnAfterAnError(t *testing.T) {
	m := newShopMap(t, openShopInOrder(t), MapOptions{Workers: 3})
	lists := [][]int64{{1}, {5, shopRows}, {2, 3}, {-1}, {4}}
	var rows []int
	for b, err := range m.Batches(t.Context(), slices.Values(lists)) {
		var wrong *iterable.RowError
		if errors.As(err, &wrong) {
			rows = append(rows, 0)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, b.Rows)
		b.Release()
	}
	if !slices.Equal(rows, []int{1, 0, 2, 0, 1}) {
		t.Errorf("rows %v", rows)
	}
}

// Leaving the loop, the end of ctx and Close end the iteration and free the batches that were made
// ahead.
func TestMapBatchesEnd(t *testing.T) {
	endless := func(yield func([]int64) bool) {
		for yield([]int64{7, 8}) {
		}
	}
	for _, c := range []struct {
		name string
		end  func(m *Map, cancel func()) bool // whether to break
		want error
	}{
		{"break", func(*Map, func()) bool { return true }, nil},
		{"cancel", func(_ *Map, cancel func()) bool { cancel(); return false }, context.Canceled},
		{"close", func(m *Map, _ func()) bool { m.Close(); return false }, ErrClosed},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newShopMap(t, openShopInOrder(t), MapOptions{Workers: 2})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			n, last := 0, error(nil)
			for b, err := range m.Batches(ctx, endless) {
				if last = err; err != nil {
					continue
				}
				b.Release()
				if n++; n == 3 && c.end(m, cancel) {
					break
				}
			}
			if !errors.Is(last, c.want) {
				t.Errorf("error %v, want %v", last, c.want)
			}
			if held := m.Stats().Held; held != 0 {
				t.Errorf("%d batches are held", held)
			}
		})
	}
}

// No more batches exist than MaxBatches: Batch waits for a Release.
func TestMapWaitsForARelease(t *testing.T) { synctest.Test(t, mapWaits) }

func mapWaits(t *testing.T) {
	m := newShopMap(t, openShopInOrder(t), MapOptions{MaxBatches: 2})
	var held []*Batch
	for range 2 {
		b, err := m.Batch(t.Context(), []int64{1})
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, b)
	}
	third := make(chan *Batch, 1)
	go func() {
		b, _ := m.Batch(t.Context(), []int64{2})
		third <- b
	}()
	synctest.Wait()
	if len(third) != 0 {
		t.Error("a third batch exists")
	}
	for _, b := range held {
		b.Release()
	}
	(<-third).Release()
}

func TestMapRefuses(t *testing.T) {
	ds := openShopInOrder(t)
	x, err := ds.Taker(iterable.TakerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for _, c := range []struct {
		o    MapOptions
		want string
	}{
		{MapOptions{Workers: -1}, "Workers must not be negative, got -1"},
		{MapOptions{Memory: 1, Taker: x}, "Memory is that of the Taker; leave one of the two out"},
		{MapOptions{Pad: []Padding{{Column: "nothing"}}}, `"nothing"`},
		{MapOptions{Memory: 1 << 10}, "raise Memory to"},
	} {
		t.Run(c.want, func(t *testing.T) {
			m, err := NewMap(ds, c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v", err)
			}
			if m != nil {
				m.Close()
			}
		})
	}
}

// Maps with one taker share its units.
func TestMapsShareATaker(t *testing.T) {
	ds := openShopInOrder(t)
	x, err := ds.Taker(iterable.TakerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for range 2 {
		m := newShopMap(t, ds, MapOptions{Taker: x})
		b, err := m.Batch(t.Context(), []int64{0, 2000})
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
	}
	if units := x.Stats().Units; units != 2 {
		t.Errorf("%d units were decoded", units)
	}
}

// copying is a store that lends nothing.
type copying struct{ shard.Store }

func (s copying) Open(ctx context.Context, x shard.Shard) (shard.Object, error) {
	o, err := s.Store.Open(ctx, x)
	return struct{ shard.Object }{o}, err
}

// What holds up a batch is known while the consumer still waits for it.
func TestHeldUp(t *testing.T) {
	late := shardtest.NewFaults(copying{local.Store{}}, shardtest.Rule{Op: shardtest.OpRead, Delay: time.Second})
	for name, workers := range map[string]int{"without workers": 0, "workers": 2} {
		t.Run(name, func(t *testing.T) {
			ds := openData(t, shard.Stores{"": late}, []string{"../testdata/shop"}, iterable.Options{})
			l, err := New(ds, Options{BatchSize: 4, Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if held := l.HeldUp(); held != nil {
				t.Errorf("without an iteration: %v", held)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var consumer sync.WaitGroup
			consumer.Go(func() {
				for b, err := range l.Batches(ctx) {
					if err == nil {
						b.Release()
					}
				}
			})
			defer consumer.Wait()
			defer cancel()
			for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
				if held := l.HeldUp(); len(held) > 0 && held[len(held)-1].Cause == wait.Storage {
					return
				} else if time.Now().After(end) {
					t.Fatalf("nothing is held up by the store: %v", held)
				}
			}
		})
	}
}

// A batch of rows waited for the store, and not for decoding, if their bytes are late.
func TestMapTrail(t *testing.T) {
	late := shardtest.NewFaults(copying{local.Store{}}, shardtest.Rule{Op: shardtest.OpRead, Delay: 20 * time.Millisecond})
	ds := openData(t, shard.Stores{"": late}, []string{"../testdata/shop"}, iterable.Options{})
	begin := wait.Now()
	b, err := newShopMap(t, ds, MapOptions{}).Batch(t.Context(), []int64{0, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	var p wait.Parts
	if b.Trail.Charge(&p, begin, wait.Now()); p[wait.Storage] < 15*time.Millisecond || p.Most() != wait.Storage {
		t.Errorf("the batch waited for %v", p.Seconds())
	}
}
