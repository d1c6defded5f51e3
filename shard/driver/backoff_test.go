package driver_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// A backoff gives up after its time or its tries, its pauses grow to the longest, and progress
// begins again.
func TestBackoff(t *testing.T) {
	const first, longest = 200 * time.Millisecond, 6 * time.Second
	count := func(ctx context.Context, b *driver.Backoff) (tries int, took time.Duration) {
		start := time.Now()
		for b.Wait(ctx, 0) {
			tries++
		}
		return tries, time.Since(start)
	}
	for _, c := range []struct {
		name           string
		b              driver.Backoff
		least, most    int // tries
		atLeast, under time.Duration
	}{
		{"by time", driver.Backoff{First: first, Longest: longest, For: time.Minute}, 12, 40, 50 * time.Second, time.Minute},
		{"by tries", driver.Backoff{First: first, Longest: longest, For: time.Hour, Most: 4}, 3, 3, first / 2 * 7, first * 7},
		{"without pauses", driver.Backoff{First: time.Hour, Longest: time.Hour, For: time.Minute, Free: 3}, 3, 3, 0, 1},
		{"no time", driver.Backoff{First: first, Longest: longest}, 0, 0, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for range 2 {
					if n, took := count(t.Context(), &c.b); n < c.least || n > c.most || took < c.atLeast || took > c.under {
						t.Errorf("%d tries in %v", n, took)
					}
					c.b.Progress()
				}
			})
		})
	}
	t.Run("as long as asked", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := driver.Backoff{First: first, Longest: longest, For: time.Hour}
			start := time.Now()
			if !b.Wait(t.Context(), 3*time.Second) || time.Since(start) != 3*time.Second {
				t.Errorf("it waited %v", time.Since(start))
			}
			if start = time.Now(); !b.Wait(t.Context(), time.Hour) || time.Since(start) != 30*time.Second {
				t.Errorf("it waited %v for an hour", time.Since(start))
			}
		})
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if b := (driver.Backoff{First: time.Hour, Longest: time.Hour, For: 10 * time.Hour}); b.Wait(ctx, 0) {
			t.Error("it waited after the end of its context")
		}
	})
}

// Parts are read side by side, and the first error ends the others.
func TestReadParts(t *testing.T) {
	parts := make([]driver.Part, 20)
	for i := range parts {
		parts[i] = driver.Part{{Off: int64(i), P: make([]byte, 1)}}
	}
	broken := errors.New("broken")
	for n := range 4 {
		err := driver.ReadParts(t.Context(), parts[:5*n], 4, func(ctx context.Context, p driver.Part) error {
			if p.Off() == 3 {
				return broken
			}
			if n > 0 {
				<-ctx.Done()
			}
			return ctx.Err()
		})
		if n == 0 && err != nil || n > 0 && !errors.Is(err, broken) {
			t.Errorf("%d parts: %v", 5*n, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	err := driver.ReadParts(ctx, parts, 4, func(context.Context, driver.Part) error {
		cancel(broken)
		return errors.New("another")
	})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, broken) {
		t.Errorf("cancelled: %v", err)
	}
}

// A watch ends a context that sees no progress, and no other.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, w := driver.NewWatch(t.Context())
		w.Begin(time.Second)
		for range 10 {
			time.Sleep(900 * time.Millisecond)
			w.Progress()
		}
		if ctx.Err() != nil {
			t.Error("it ended in spite of progress")
		}
		time.Sleep(2 * time.Second)
		if !driver.Stalled(ctx) {
			t.Errorf("cause %v", context.Cause(ctx))
		}
		w.End(nil)

		ctx, w = driver.NewWatch(t.Context())
		w.Begin(time.Second)
		w.End(nil)
		time.Sleep(2 * time.Second)
		if driver.Stalled(ctx) || ctx.Err() == nil {
			t.Errorf("cause %v after its end", context.Cause(ctx))
		}
	})
}

// What cannot be read is refused before any request.
func TestCheck(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	one := []shard.Range{{Off: 5, P: make([]byte, 5)}}
	if err := driver.Check(t.Context(), false, one, 10); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"outside": driver.Check(t.Context(), false, one, 9), "closed": driver.Check(t.Context(), true, one, 10), "over": driver.Check(over, false, one, 10),
	} {
		t.Run(name, func(t *testing.T) {
			if err == nil {
				t.Errorf("%s: no error", name)
			}
		})
	}
}
