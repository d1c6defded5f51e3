package iterable

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/shardtest"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A far store lends nothing, answers after a random while, likes many reads at once and counts
// those under way.
type far struct {
	shard.Store
	shard.Remote
	latency  time.Duration // at most
	parallel int

	now, most, reads atomic.Int64
}

type farObject struct {
	shard.Object
	store *far
}

func (s *far) Parallel(string) int { return s.parallel }

func (s *far) Open(ctx context.Context, x shard.Shard) (shard.Object, error) {
	o, err := s.Store.Open(ctx, x)
	if err != nil {
		return nil, err
	}
	return farObject{o, s}, nil
}

func (o farObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	o.store.reads.Add(1)
	n := o.store.now.Add(1)
	defer o.store.now.Add(-1)
	for most := o.store.most.Load(); n > most && !o.store.most.CompareAndSwap(most, n); most = o.store.most.Load() {
	}
	if o.store.latency > 0 {
		wait := time.NewTimer(rand.N(o.store.latency))
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return o.Object.ReadAt(ctx, p, off)
}

// A store that likes many reads gets them, but no more than the memory has room for, and what is
// held stays within the reservation. Every byte of the projected columns is read once, and no
// other.
func TestManyFetchersKeepToTheMemory(t *testing.T) {
	for _, c := range []struct {
		memory  int64
		shuffle bool
		columns []string
		least   int64 // reads that are under way at some time
	}{
		{256 << 20, true, nil, 10},
		{100 << 20, true, nil, 3},
		{256 << 20, false, nil, 10},
		{60 << 20, false, nil, 2},
		{256 << 20, true, []string{"id", "label"}, 10},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			store := &far{Store: pictures(t), latency: 10 * time.Millisecond, parallel: 64}
			meter := shardtest.NewFaults(store)
			d := open(t, meter, Options{Order: Order{Shuffle: c.shuffle}, ShuffleBuffer: Size{Rows: 1000}, Resources: Resources{Memory: c.memory}, Reading: Reading{Columns: c.columns}})
			before := meter.ReadBytes()
			store.most.Store(0)
			s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 16, Draws: 2})
			rows := 0
			for _, x := range rest(t, s) {
				rows += len(x.ids)
			}
			if rows != 3840 {
				t.Errorf("%d rows", rows)
			}
			reserved := s.account.Reserved()
			peak, most := s.account.Peak()
			if most > reserved.Total() || peak[mem.Fetch] > reserved[mem.Fetch] || reserved.Total() > c.memory {
				t.Errorf("over the reservation, or that over the limit:\n%s", s.account)
			}
			if pool := d.pool.Stats().Peak; pool > reserved.Total() {
				t.Errorf("the pool held %s, reserved are %s", mem.Bytes(pool), mem.Bytes(reserved.Total()))
			}
			var needed int64
			for _, g := range d.sources[0].manifest.Groups() {
				needed += g.Compressed
			}
			read := meter.ReadBytes() - before
			if st := s.Stats(); read != needed || st.Fetched != needed || st.Needed != needed {
				t.Errorf("%d read for %d bytes; %v", read, needed, st)
			}
			if n := store.most.Load(); n < c.least || n > 64 {
				t.Errorf("%d reads were under way at a time", n)
			}
		})
	}
}

// Memory that the stores hold is part of a stream's, admitted or refused with it, and leaves the
// order alone.
func TestStoreMemory(t *testing.T) {
	groups, _ := uneven()
	store := files(t, groups, noImage)
	const memory = 32 << 20
	so := StreamOptions{BatchSize: 7}
	var want string
	for _, n := range []int64{0, 20 << 20} {
		t.Run(fmt.Sprintf("%d bytes", n), func(t *testing.T) {
			o := Options{Order: Order{Shuffle: true, Seed: 3}, Resources: Resources{Memory: memory, StoreMemory: n}}
			d := open(t, store, o)
			p, err := d.Plan(1, so)
			if err != nil {
				t.Fatal(err)
			}
			s := stream(t, d, shuffle.Worker{}, so)
			if p.Bound[mem.Store] != n || s.account.Reserved()[mem.Store] != n || !p.Fits {
				t.Errorf("of %d bytes %v are planned, %v reserved", n, p.Bound, s.account.Reserved())
			}
			if got := fmt.Sprint(rest(t, s)); want == "" {
				want = got
			} else if got != want {
				t.Error("another order")
			}
		})
	}
	d := open(t, store, Options{Order: Order{Shuffle: true}, Resources: Resources{Memory: memory, StoreMemory: memory}})
	p, err := d.Plan(1, so)
	if err != nil || p.Fits {
		t.Errorf("fits: %t, error %v", p.Fits, err)
	}
	var refused *MemoryError
	if _, err := d.Stream(t.Context(), shuffle.Worker{}, so); !errors.As(err, &refused) || !contains(err.Error(), "store 32.0 MiB") ||
		!contains(err.Error(), "leave the stores less") {
		t.Errorf("error %v", err)
	}
	if err := (Options{Resources: Resources{StoreMemory: -1, Fetchers: 1000}}).Validate(); err == nil || !contains(err.Error(), "StoreMemory") || !contains(err.Error(), "Fetchers") {
		t.Errorf("error %v", err)
	}
}

// Footers kept in memory are not read again by the next data set.
func TestHotOfManyDatasets(t *testing.T) {
	groups, _ := uneven()
	store := &far{Store: files(t, groups, noImage), parallel: 8}
	hot := rowgroup.NewHot(4 << 20)
	defer hot.Close()
	open(t, store, Options{Resources: Resources{Hot: hot}})
	waitFor(t, func() bool {
		before := store.reads.Load()
		open(t, store, Options{Resources: Resources{Hot: hot}})
		return store.reads.Load() == before
	})
}
