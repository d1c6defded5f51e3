package driver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestWindowSize(t *testing.T) {
	for _, c := range []struct{ least, start, most, size int }{
		{2, 8, 16, 8},
		{2, 1, 16, 2},
		{2, 99, 16, 16},
		{0, 0, 0, 1},
		{-3, -2, -1, 1},
		{5, 1, 3, 5},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			if got := NewWindow(c.least, c.start, c.most).Size(); got != c.size {
				t.Errorf("%+v: size %d", c, got)
			}
		})
	}
}

// TestWindowFollows drives a window through good and bad answers by a clock of its own.
func TestWindowFollows(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	w := NewWindow(2, 16, 18)
	w.now = func() time.Time { return now }
	good := func(n int) {
		for range n {
			w.Done()
		}
	}
	for i, step := range []struct {
		do   func()
		size int
	}{
		{func() { good(15) }, 16},
		{func() { good(1) }, 17}, // a window of 16
		{func() { good(17) }, 18},
		{func() { good(100) }, 18}, // the most
		{w.Slow, 9},
		{w.Slow, 9}, // within the same second
		{func() { now = now.Add(time.Second - 1); w.Slow() }, 9},
		{func() { now = now.Add(1); w.Slow() }, 4},
		{func() { good(3); w.Slow(); good(3) }, 4}, // what went well before does not count
		{func() { good(1) }, 5},
		{func() { now = now.Add(time.Hour); w.Slow() }, 2},
		{func() { now = now.Add(time.Hour); w.Slow() }, 2}, // the least
		{func() { good(2) }, 3},
		{func() { w.Left(1) }, 2}, // the least
		{func() { good(15); w.Left(4) }, 4},
		{func() { good(18) }, 4},
		{func() { w.Left(1000) }, 9}, // grown meanwhile
	} {
		if step.do(); w.Size() != step.size {
			t.Fatalf("step %d: size %d, want %d", i, w.Size(), step.size)
		}
	}
}

// TestWindowOrder: tokens go to those who asked first, those who gave up excepted.
func TestWindowOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWindow(1, 1, 1)
		if err := w.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []int
		var wg sync.WaitGroup
		contexts := make([]context.CancelFunc, 5)
		for i := range contexts {
			ctx, cancel := context.WithCancel(t.Context())
			contexts[i] = cancel
			wg.Go(func() {
				if err := w.Acquire(ctx); err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					return
				}
				got = append(got, i) // one at a time: there is one token
				w.Release()
			})
			synctest.Wait()
		}
		contexts[1]()
		contexts[3]()
		synctest.Wait()
		w.Release()
		wg.Wait()
		if len(got) != 3 || got[0] != 0 || got[1] != 2 || got[2] != 4 {
			t.Fatalf("tokens went to %v", got)
		}
		for _, cancel := range contexts {
			cancel()
		}
	})
}

// TestWindowShrinks: tokens that are out when the window halves come back before another goes out.
func TestWindowShrinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWindow(1, 4, 4)
		for range 4 {
			if err := w.Acquire(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		w.Slow()
		var served atomic.Int32
		go func() {
			if w.Acquire(t.Context()) == nil {
				served.Add(1)
			}
		}()
		for i, want := range []int32{0, 0, 1} {
			w.Release()
			synctest.Wait()
			if served.Load() != want {
				t.Fatalf("after %d tokens came back, %d were served", i+1, served.Load())
			}
		}
	})
}

// TestWindowGrowsForWaiters: a window that grows serves who waits.
func TestWindowGrowsForWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWindow(1, 1, 2)
		if err := w.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		go func() { _ = w.Acquire(t.Context()) }()
		synctest.Wait()
		w.Done()
		synctest.Wait()
		w.Release()
		w.Release() // panics unless both are out
	})
}

// TestWindowGivenToOneWhoLeaves: a token that came at the moment at which its waiter gave up goes
// to the next.
func TestWindowGivenToOneWhoLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 64 { // which of the two a waiter sees first is chance
			w := NewWindow(1, 1, 1)
			if err := w.Acquire(t.Context()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			served := false
			go func() {
				if w.Acquire(ctx) == nil {
					w.Release()
				}
			}()
			synctest.Wait()
			go func() { served = w.Acquire(t.Context()) == nil }()
			synctest.Wait()
			w.mu.Lock()
			cancel()
			w.out-- // as Release does
			w.wake()
			w.mu.Unlock()
			if synctest.Wait(); !served {
				t.Fatal("the token was lost")
			}
		}
	})
}

func TestWindowCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := NewWindow(1, 1, 1)
	if err := w.Acquire(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := w.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Release()
	defer func() {
		if recover() == nil {
			t.Error("a token came back twice")
		}
	}()
	w.Release()
}

// TestWindowUnderLoad: with contexts that end at random moments, no token is lost and none is made.
func TestWindowUnderLoad(t *testing.T) {
	w := NewWindow(2, 4, 8)
	var out, most atomic.Int32
	var wg sync.WaitGroup
	for g := range 32 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for range 300 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(200))*time.Microsecond)
				if w.Acquire(ctx) == nil {
					n := out.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					if r.IntN(50) == 0 {
						w.Slow()
					} else {
						w.Done()
					}
					out.Add(-1)
					w.Release()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if most.Load() > 8 {
		t.Errorf("%d tokens were out at once", most.Load())
	}
	size := w.Size()
	for range size {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := w.Acquire(ctx); err != nil {
			t.Errorf("a token was lost: %v", err)
		}
		cancel()
	}
	if w.out != size || w.waiting.Len() != 0 {
		t.Errorf("%d tokens are out of %d, %d wait", w.out, size, w.waiting.Len())
	}
}
