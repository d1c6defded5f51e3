package gpu_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/shardfeed/shardfeed/gpu"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

// accountOf returns an account of so many bytes for batches, under a limit.
func accountOf(t *testing.T, limit, batches int64) (*iterable.Account, *mem.Account) {
	t.Helper()
	a, err := mem.NewBudget(0).Reserve(limit, mem.Amounts{mem.Batch: batches})
	if err != nil {
		t.Fatal(err)
	}
	return (*iterable.Account)(a), a
}

// A ring keeps to the memory of the stream: what its slots have counts, a batch that outgrows its
// slot asks before it takes more, and one that does not fit is refused.
func TestRingKeepsToTheAccount(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		r := newRing(t, d, gpu.RingOptions{Slots: 2, SlotBytes: 256 * kib})
		shared, a := accountOf(t, 2<<20, 512*kib)
		r.Use(shared)
		if n := a.Used()[mem.Batch]; n != 512*kib {
			t.Fatalf("%d bytes of slots count", n)
		}
		m := begin(t, r, 0)
		m.(loader.Limited).Make(t.Context())
		alloc(t, m, 200*kib)
		alloc(t, m, 1<<20)
		if n := a.Used()[mem.Batch]; n != r.Stats().Bytes || n < 1536*kib {
			t.Errorf("%d bytes count, the ring has %d", n, r.Stats().Bytes)
		}
		var full *mem.FullError
		if _, err := m.Alloc(1 << 20); !errors.As(err, &full) {
			t.Errorf("a batch beyond the limit: %v", err)
		}
		if err := m.(loader.Limited).Scratch(1 << 20); !errors.As(err, &full) {
			t.Errorf("scratch beyond the limit: %v", err)
		}
		m.Free()
		if n := a.Used()[mem.Batch]; n != 512*kib {
			t.Errorf("%d bytes count when the batch is free", n)
		}
		shared, next := accountOf(t, 2<<20, 512*kib)
		r.Use(shared)
		if before, now := a.Used()[mem.Batch], next.Used()[mem.Batch]; before != 0 || now != 512*kib {
			t.Errorf("the next stream: %d bytes count there, %d in the account before", now, before)
		}
		if _, most := a.Peak(); most > 2<<20 {
			t.Errorf("the account held %d bytes", most)
		}
	})
}

// A batch that a transform makes larger than the memory of its stream ends the iteration with an
// error.
func TestBatchBeyondMemory(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		ds := openThings(t, iterable.Options{Resources: iterable.Resources{Memory: 64 << 20}})
		l := newLoader(t, ds, d, gpu.Options{Loader: loader.Options{BatchSize: 8, Transforms: []loader.Transform{
			{Apply: func(_ context.Context, b *loader.Batch, _ *rand.Rand) error {
				_, err := b.Memory().Alloc(96 << 20)
				return err
			}},
		}}})
		_, err := take(t, l, d, release)
		if full := (*mem.FullError)(nil); !errors.As(err, &full) {
			t.Errorf("%v", err)
		}
	})
}
