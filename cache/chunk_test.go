package cache

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/shard"
)

// A chunked is an origin whose requests are scarce. It counts them.
type chunked struct {
	origin
	chunk    int64
	requests atomic.Int64
}

type chunkedObject struct {
	*originObject
	store *chunked
}

func (c *chunked) Open(ctx context.Context, s shard.Shard) (shard.Object, error) {
	o, err := c.origin.Open(ctx, s)
	return &chunkedObject{o.(*originObject), c}, err
}

func (o *chunkedObject) Chunk() int64 { return o.store.chunk }

func (o *chunkedObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	o.store.requests.Add(1)
	return o.originObject.ReadAt(ctx, p, off)
}

func (o *chunkedObject) ReadRanges(ctx context.Context, ranges []shard.Range) error {
	for i := range ranges {
		if i == 0 || ranges[i-1].Span().End() != ranges[i].Off {
			o.store.requests.Add(1)
		}
	}
	return o.originObject.ReadRanges(ctx, ranges)
}

// Bytes around the wanted ones come with them from a store whose requests are scarce, if most of
// them will be wanted and there is room.
func TestChunks(t *testing.T) {
	const size, group = 3<<20 + 777, 300_000 // bytes of a shard, and of its row groups
	whole := func(off int64) []shard.Span { return []shard.Span{{Off: off, N: min(group, size-off)}} }
	few := func(off int64) []shard.Span {
		return []shard.Span{{Off: off, N: 10}, {Off: off + min(group, size-off) - 10, N: 10}}
	}
	for _, c := range []struct {
		name     string
		chunk    int64
		limit    int64
		most     bool // the reader wants most of the shard
		spans    func(off int64) []shard.Span
		requests int64
	}{
		{"no chunks", 0, 1 << 30, true, whole, 11},
		{"all columns", 1 << 20, 1 << 30, true, whole, 4},
		{"all columns in equal parts", 2 << 20, 1 << 30, true, whole, 2},
		{"all columns of a small shard", 32 << 20, 1 << 30, true, whole, 1},
		{"two columns of a small shard", 32 << 20, 1 << 30, false, few, 1},
		{"two small columns", 2 << 20, 1 << 30, false, few, 12},
		{"no room on the disk", 2 << 20, 2 << 20, true, whole, 11},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := &chunked{chunk: c.chunk}
			cache, err := Open(Options{Dir: t.TempDir(), Limit: c.limit})
			if err != nil {
				t.Fatal(err)
			}
			defer cache.Close(context.WithoutCancel(t.Context()))
			s := originShard(1, "v1", size)
			o, err := cache.Wrap(store).Open(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			for off := int64(0); off < size; off += group {
				var ranges []shard.Range
				for _, span := range c.spans(off) {
					ranges = append(ranges, shard.Range{Off: span.Off, P: make([]byte, span.N)})
				}
				ctx := t.Context()
				if c.most {
					ctx = shard.WithMost(ctx)
				}
				if err := shard.ReadRanges(ctx, o, ranges); err != nil {
					t.Fatal(err)
				}
				for _, r := range ranges {
					want := make([]byte, len(r.P))
					if truth(seedOf(s), want, r.Off); !bytes.Equal(r.P, want) {
						t.Fatalf("wrong bytes at %d", r.Off)
					}
				}
			}
			got := store.requests.Load()
			if few := c.requests <= 4; few && got != c.requests || !few && got < c.requests {
				t.Errorf("%d requests, want %d", got, c.requests)
			}
			if got := store.fetched.Load(); got > size {
				t.Errorf("%d bytes of %d were fetched", got, size)
			}
		})
	}
}

// Reads at a time, of row groups that share chunks, make a request for each chunk, though there is
// memory for one or two of them only.
func TestChunksAtOnce(t *testing.T) {
	const size, group, chunk = 8 << 20, 300_000, 1 << 20
	store := &chunked{chunk: chunk}
	cache, err := Open(Options{Dir: t.TempDir(), Limit: 1 << 30, Pending: 2 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close(context.WithoutCancel(t.Context()))
	o, err := cache.Wrap(store).Open(t.Context(), originShard(1, "v1", size))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	var reads errgroup.Group
	for off := int64(0); off < size; off += group {
		reads.Go(func() error {
			return shard.ReadRanges(shard.WithMost(t.Context()), o, []shard.Range{{Off: off, P: make([]byte, min(group, size-off))}})
		})
	}
	if err := reads.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := store.requests.Load(); got > size/chunk {
		t.Errorf("%d requests for %d chunks", got, size/chunk)
	}
	if got := store.fetched.Load(); got != size {
		t.Errorf("%d bytes of %d were fetched", got, size)
	}
}

// A small shard of a store whose requests are scarce comes whole with its footer, for a reader that
// wants most of it.
func TestSmallShardsWhole(t *testing.T) {
	const size = 1<<20 + 777
	for _, c := range []struct {
		name     string
		chunk    int64
		most     bool
		requests int64 // for two parts of the footer, and all columns
	}{
		{"small", 16 << 20, true, 1},
		{"larger", 8 << 20, true, 3},
		{"requests are cheap", 0, true, 3},
		{"a look at the footer", 16 << 20, false, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := &chunked{chunk: c.chunk}
			cache, err := Open(Options{Dir: t.TempDir(), Limit: 1 << 30})
			if err != nil {
				t.Fatal(err)
			}
			defer cache.Close(context.WithoutCancel(t.Context()))
			ctx := t.Context()
			if c.most {
				ctx = shard.WithMost(ctx)
			}
			s := originShard(1, "v1", size)
			read := func(store shard.Store, read func(o shard.Object) error) {
				t.Helper()
				o, err := store.Open(ctx, s)
				if err != nil {
					t.Fatal(err)
				}
				defer o.Close()
				if err := read(o); err != nil {
					t.Fatal(err)
				}
			}
			read(cache.WrapSmall(store), func(o shard.Object) error {
				p := make([]byte, 200)
				if err := o.ReadAt(ctx, p[100:], size-100); err != nil {
					return err
				}
				return o.ReadAt(ctx, p, size-200)
			})
			all := make([]byte, size)
			read(cache.Wrap(store), func(o shard.Object) error {
				return shard.ReadRanges(ctx, o, []shard.Range{{P: all}})
			})
			want := make([]byte, size)
			if truth(seedOf(s), want, 0); !bytes.Equal(all, want) {
				t.Error("wrong bytes")
			}
			if got := store.requests.Load(); got != c.requests {
				t.Errorf("%d requests, want %d", got, c.requests)
			}
		})
	}
}

// The parts of a shard are whole segments, about equal, and none is longer than what is allowed.
func TestEvenPart(t *testing.T) {
	for _, c := range [][3]int64{
		{27 << 20, 32 << 20, 27 << 20},
		{27<<20 + 1, 32 << 20, 28 << 20},
		{40 << 20, 32 << 20, 20 << 20},
		{33 << 20, 32 << 20, 17 << 20},
		{64 << 20, 32 << 20, 32 << 20},
		{5 << 20, 100, 1 << 20},
		{100, 32 << 20, 1 << 20},
	} {
		if got := evenPart(c[0], c[1]); got != c[2] {
			t.Errorf("of %d bytes, at most %d: %d, want %d", c[0], c[1], got, c[2])
		}
	}
}
