package loader

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A state of other data, or of an epoch that no run reaches, is refused before an iteration begins.
func TestNewRefusesForeignState(t *testing.T) {
	ds := openShop(t, iterable.Options{})
	own, err := ds.Start(1, iterable.StreamOptions{BatchSize: 64, Tail: shuffle.Short})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(ds, Options{BatchSize: 64, State: &own}); err != nil {
		t.Errorf("its own state: %v", err)
	}
	for _, c := range []struct {
		name   string
		change func(*shuffle.State)
		want   string
	}{
		{"other data", func(s *shuffle.State) { s.Manifest = strings.Repeat("0", 64) }, "these are not the shards that the state was taken over"},
		{"other units", func(s *shuffle.State) { s.Units = strings.Repeat("0", 16) }, "units is 0000000000000000 in the state"},
		{"epoch", func(s *shuffle.State) { s.Epoch = math.MaxUint64 }, "epoch: must be from 0 to 9007199254740991, got 18446744073709551615"},
	} {
		t.Run(c.name, func(t *testing.T) {
			state := own
			c.change(&state)
			if _, err := New(ds, Options{BatchSize: 64, State: &state}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// UntilEpoch is where a run ends, wherever it begins or goes on.
func TestUntilEpoch(t *testing.T) {
	for _, shuffled := range []bool{false, true} {
		for _, tail := range []shuffle.Tail{shuffle.Short, shuffle.Drop, shuffle.Carry} {
			t.Run(fmt.Sprintf("shuffle %t, tail %s", shuffled, tail), func(t *testing.T) {
				o := Options{BatchSize: 700, Tail: tail, UntilEpoch: 3}
				ds := openShop(t, iterable.Options{})
				if !shuffled {
					ds = openShopInOrder(t)
				}
				all := epochsOf(t, newShop(t, ds, o))
				if n := len(all); all[0].Epoch != 0 || all[n-1].Epoch != 2 {
					t.Fatalf("epochs %d to %d", all[0].Epoch, all[n-1].Epoch)
				}
				for i := range all {
					resumed := o
					resumed.State = &all[i].State
					if got := epochsOf(t, newShop(t, ds, resumed)); len(got) != len(all)-i-1 {
						t.Errorf("%d batches after number %d of %d", len(got), i, len(all))
					}
				}
				late := o
				late.Epoch = 5
				if got := epochsOf(t, newShop(t, ds, late)); len(got) != 0 {
					t.Errorf("%d batches from epoch 5 on", len(got))
				}
			})
		}
	}
}

// epochsOf is where the batches of one iteration stand.
func epochsOf(t *testing.T, l *Loader) (all []Batch) {
	t.Helper()
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, Batch{Epoch: b.Epoch, State: b.State})
		b.Release()
	}
	return all
}

// Who cancels with a cause gets it, and context.Canceled too.
func TestCancelWithCause(t *testing.T) {
	preempted := errors.New("preempted")
	eachShape(t, func(t *testing.T, o Options) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		l, opened := fakeLoader(t, o, 40, nil)
		var got error
		for b, err := range l.Batches(ctx) {
			if err != nil {
				got = err
				break
			}
			b.Release()
			cancel(preempted)
		}
		if !errors.Is(got, context.Canceled) || !errors.Is(got, preempted) {
			t.Errorf("got %v", got)
		}
		nothingLeft(t, l, *opened)
	})
}

// A faulty allocator returns no memory at all, or too little of it.
type faultyAllocator struct{ nothing bool }

func (a faultyAllocator) Begin(context.Context, int) (Memory, error) {
	if a.nothing {
		return nil, nil
	}
	return shortMemory{}, nil
}

type shortMemory struct{}

func (shortMemory) Alloc(n int) ([]byte, error) { return make([]byte, n/2), nil }
func (shortMemory) Free()                       {}

func TestFaultyAllocator(t *testing.T) {
	for _, c := range []struct {
		name string
		from faultyAllocator
		want string
	}{
		{"no memory", faultyAllocator{nothing: true}, "Allocator.Begin must return a Memory or an error, got neither"},
		{"short memory", faultyAllocator{}, "Memory.Alloc of the Allocator must return"},
	} {
		for _, workers := range []int{0, 2} {
			t.Run(fmt.Sprintf("%s, %d workers", c.name, workers), func(t *testing.T) {
				l := newShop(t, openShop(t, iterable.Options{}), Options{BatchSize: 64, Workers: workers, Allocator: c.from})
				_, err := steps(t.Context(), l)
				var panicked *iterable.PanicError
				if err == nil || errors.As(err, &panicked) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %s", err, c.want)
				}
			})
		}
	}
}
