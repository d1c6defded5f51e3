package cache

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// TestFill: what is missing is fetched, what is held is not, and the progress adds up.
func TestFill(t *testing.T) {
	const size = 40<<20 + 17
	source, s := &origin{}, originShard(1, "v1", size)
	c := openTest(t, Options{Pending: 2 << 20})
	for _, step := range []struct {
		spans   []shard.Span
		fetched int64
	}{
		{nil, 0},
		{[]shard.Span{{Off: 0, N: 0}}, 0},
		{[]shard.Span{{Off: 10 << 20, N: 1000}, {Off: 0, N: 1000}}, 2000},               // in any order
		{[]shard.Span{{Off: 0, N: 1000}, {Off: 500, N: 1000}, {Off: 500, N: 100}}, 500}, // overlapping
		{[]shard.Span{{Off: 0, N: size}}, size - 2500},                                  // larger than a batch
		{[]shard.Span{{Off: 1, N: size - 1}, {Off: 5, N: 5}, {Off: size - 1, N: 1}}, 0}, // held
	} {
		t.Run(fmt.Sprint(step.spans), func(t *testing.T) {
			var told, want int64
			joined, err := (&object{shard: s}).normal(step.spans)
			if err != nil {
				t.Fatal(err)
			}
			want = spanBytes(joined)
			n, err := c.Fill(t.Context(), source, s, step.spans, func(n int64) { told += n })
			if n != step.fetched || err != nil || told != want {
				t.Errorf("%v: %d fetched of %d, progress %d of %d, %v", step.spans, n, step.fetched, told, want, err)
			}
			if n, err := c.Held(source, s, step.spans); n != want || err != nil {
				t.Errorf("%v: %d held of %d, %v", step.spans, n, want, err)
			}
		})
	}
	if err := readRight(openShard(t, c, source, s), s, []shard.Range{{P: make([]byte, size)}}); err != nil {
		t.Error(err)
	}
	if source.fetched.Load() != size {
		t.Errorf("%d bytes fetched of %d", source.fetched.Load(), size)
	}
}

func TestFillRefuses(t *testing.T) {
	source := &origin{}
	c := openTest(t, Options{})
	s := originShard(1, "v1", 1000)
	for _, span := range []shard.Span{{Off: -1, N: 1}, {Off: 0, N: 1001}, {Off: 0, N: -1}, {Off: 1 << 62, N: 1 << 62}} {
		if _, err := c.Fill(t.Context(), source, s, []shard.Span{span}, nil); err == nil {
			t.Errorf("%v is no error", span)
		}
		if _, err := c.Held(source, s, []shard.Span{span}); err == nil {
			t.Errorf("%v is held without an error", span)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Fill(ctx, source, s, []shard.Span{{N: 1000}}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	unversioned := shard.Shard{URI: "remote://a", Size: 10}
	if _, err := c.Fill(t.Context(), source, unversioned, []shard.Span{{N: 10}}, nil); err == nil {
		t.Error("a shard without a version was filled")
	}
	if n, err := c.Held(source, unversioned, []shard.Span{{N: 10}}); n != 0 || err != nil {
		t.Errorf("%d held, %v", n, err)
	}
	if n, err := c.Held(source, originShard(2, "v1", 10), []shard.Span{{N: 10}}); n != 0 || err != nil {
		t.Errorf("%d held of what was never read, %v", n, err)
	}
	closeTest(t, c)
	if _, err := c.Fill(t.Context(), source, s, []shard.Span{{N: 1000}}, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestFillFull: a Fill that does not fit says so and leaves what fits, nearly to the limit.
func TestFillFull(t *testing.T) {
	const size, limit = 8 << 20, 4 << 20
	source, s := &origin{}, originShard(1, "v1", size)
	c := openTest(t, Options{Limit: limit})
	for range 2 { // the first look at all files may count bytes twice that are being written
		if _, err := c.Fill(t.Context(), source, s, []shard.Span{{N: size}}, nil); !errors.Is(err, ErrFull) {
			t.Errorf("%v", err)
		}
		settle(t, c)
		if err := c.usage.setScanAfter(false, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	held, err := c.Held(source, s, []shard.Span{{N: size}})
	if on := usageOf(t, c); err != nil || on > limit || held < limit-128<<10 {
		t.Errorf("%d held, %d on the disk, limit %d, %v", held, on, limit, err)
	}
	if err := readRight(openShard(t, c, source, s), s, []shard.Range{{P: make([]byte, size)}}); err != nil {
		t.Error(err)
	}
}

// TestFillSourceFails: the source's error comes out, and a second Fill goes on.
func TestFillSourceFails(t *testing.T) {
	source := &origin{}
	c := openTest(t, Options{})
	s := originShard(1, "v1", 1000)
	ctx, cancel := context.WithCancel(t.Context())
	stop := &blockedSource{origin: source, entered: make(chan struct{}), let: make(chan struct{})}
	go func() { <-stop.entered; cancel() }()
	if _, err := c.Fill(ctx, stop, s, []shard.Span{{N: 1000}}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if n, err := c.Fill(t.Context(), source, s, []shard.Span{{N: 1000}}, nil); n != 1000 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
