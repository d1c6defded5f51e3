package mem

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

func account(t *testing.T, need Amounts) *Account {
	t.Helper()
	a, err := NewBudget(0).Reserve(0, need)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func TestTryAcquireByPurpose(t *testing.T) {
	a := account(t, Amounts{Fetch: 10, Decode: 5, Shuffle: 20, Batch: 7})
	steps := []struct {
		purpose Purpose
		n       int64
		want    bool
	}{
		{Fetch, 10, true}, {Fetch, 1, false}, // fetch keeps to its own
		{Decode, 24, true}, {Shuffle, 2, false}, {Shuffle, 1, true}, {Decode, 1, false}, // these share 25
		{Batch, 8, false}, {Batch, 7, true}, {Ring, 1, false},
	}
	for i, s := range steps {
		if got := a.TryAcquire(s.purpose, s.n); got != s.want {
			t.Errorf("step %d: %d of %s: %v", i, s.n, s.purpose, got)
		}
	}
	a.Release(Decode, 24)
	if !a.TryAcquire(Shuffle, 24) {
		t.Error("no room after a release")
	}
	by, most := a.Peak()
	if by[Decode] != 24 || by[Shuffle] != 25 || most != 10+25+7 {
		t.Errorf("peak %v, most %d", by, most)
	}
}

func TestMoveKeepsTheSum(t *testing.T) {
	a := account(t, Amounts{Decode: 5, Shuffle: 5})
	a.Charge(Decode, 4)
	a.Move(Decode, Shuffle, 3)
	if used := a.Used(); used != (Amounts{Decode: 1, Shuffle: 3}) {
		t.Errorf("used %v", used)
	}
	if by, most := a.Peak(); by[Shuffle] != 3 || most != 4 {
		t.Errorf("peak %v, most %d", by, most)
	}
}

func TestChargeGoesOverTheReservation(t *testing.T) {
	a := account(t, Amounts{Fetch: 3})
	a.Charge(Fetch, 5)
	if a.Used()[Fetch] != 5 || a.TryAcquire(Fetch, 0) {
		t.Errorf("used %v", a.Used())
	}
}

func TestReleaseOfTooMuchPanics(t *testing.T) {
	for name, f := range map[string]func(*Account){
		"release": func(a *Account) { a.Release(Fetch, 2) },
		"move":    func(a *Account) { a.Move(Fetch, Decode, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			a := account(t, Amounts{Fetch: 3})
			a.Charge(Fetch, 1)
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: no panic", name)
					}
				}()
				f(a)
			}()
		})
	}
}

func TestAcquireWaitsInOrder(t *testing.T) {
	a := account(t, Amounts{Fetch: 10, Batch: 1})
	a.Charge(Fetch, 10)
	got := make(chan int, 2)
	var wg sync.WaitGroup
	for i, n := range []int64{8, 1} {
		wg.Go(func() {
			if err := a.Acquire(t.Context(), Fetch, n); err != nil {
				t.Error(err)
			}
			got <- i
		})
		waitFor(t, func() bool { a.mu.Lock(); defer a.mu.Unlock(); return len(a.waiters) == i+1 })
	}
	if a.TryAcquire(Fetch, 0) {
		t.Error("TryAcquire went past those that wait")
	}
	if !a.TryAcquire(Batch, 1) {
		t.Error("a full room closed another")
	}
	a.Release(Fetch, 2) // room for the second, but the first came first
	select {
	case i := <-got:
		t.Fatalf("%d was served", i)
	case <-time.After(5 * time.Millisecond):
	}
	a.Release(Fetch, 6)
	if i := <-got; i != 0 {
		t.Errorf("%d was served first", i)
	}
	a.Release(Fetch, 1)
	<-got
	wg.Wait()
}

func TestAcquireEndsWithItsContext(t *testing.T) {
	a := account(t, Amounts{Fetch: 10})
	a.Charge(Fetch, 5)
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() { first <- a.Acquire(ctx, Fetch, 10) }()
	waitFor(t, func() bool { a.mu.Lock(); defer a.mu.Unlock(); return len(a.waiters) == 1 })
	second := make(chan error)
	go func() { second <- a.Acquire(t.Context(), Fetch, 5) }()
	waitFor(t, func() bool { a.mu.Lock(); defer a.mu.Unlock(); return len(a.waiters) == 2 })
	cancel()
	if err := <-first; err != context.Canceled {
		t.Error(err)
	}
	if err := <-second; err != nil { // the one that left was in its way
		t.Error(err)
	}
	if err := a.Acquire(t.Context(), Fetch, 11); err == nil || !strings.Contains(err.Error(), "never fit") {
		t.Errorf("more than the reservation: %v", err)
	}
}

// Random users never see more in use than was reserved, and all get through.
func TestAcquireUnderLoad(t *testing.T) {
	a := account(t, Amounts{Fetch: 50, Decode: 20, Shuffle: 30})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for range 500 {
				p, n := []Purpose{Fetch, Decode, Shuffle}[r.IntN(3)], r.Int64N(50)+1
				if err := a.Acquire(t.Context(), p, n); err != nil {
					t.Error(err)
					return
				}
				a.Release(p, n)
			}
		})
	}
	wg.Wait()
	by, most := a.Peak()
	if by[Fetch] > 50 || by[Decode]+by[Shuffle] > 100 || most > 100 || a.Used() != (Amounts{}) {
		t.Errorf("peak %v, most %d, used %v", by, most, a.Used())
	}
}

func TestAccountString(t *testing.T) {
	a := account(t, Amounts{Fetch: 1 << 20, Shuffle: 3 << 30})
	a.Charge(Shuffle, 1<<30)
	want := "purpose      reserved         used         peak\n" +
		"fetch         1.0 MiB          0 B          0 B\n" +
		"shuffle       3.0 GiB      1.0 GiB      1.0 GiB\n" +
		"sum           3.0 GiB      1.0 GiB      1.0 GiB\n"
	if got := a.String(); got != want {
		t.Errorf("got\n%s", got)
	}
}

func waitFor(t *testing.T, f func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come to that")
		}
	}
}

// Grow and turns take back what is held for later, and nothing is taken for later meanwhile.
func TestGrowEvicts(t *testing.T) {
	for _, name := range []string{"grow", "turn"} {
		a, err := NewBudget(0).Reserve(100, Amounts{Decode: 20, Batch: 10})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Grow(Decode, 80); err != nil {
			t.Fatal(err)
		}
		grow := func(n int64) error { return a.Grow(Batch, n) }
		if turn := a.Turn(); name == "turn" {
			grow = func(n int64) error { return turn.Grow(t.Context(), Batch, n, nil) }
		}
		held := int64(4)
		a.Evict(func(context.Context) bool {
			if a.TryAcquire(Decode, 1) || a.GrowPlenty(Decode, 1) {
				t.Errorf("%s: memory is taken for later during an eviction", name)
			}
			if held == 0 {
				return false
			}
			a.Release(Decode, 20)
			held--
			return true
		})
		if err := grow(50); err != nil || held != 2 || a.Used() != (Amounts{Decode: 40, Batch: 50}) {
			t.Errorf("%s: %v, %d are held, used %v", name, err, held, a.Used())
		}
		if err := grow(60); err == nil || held != 0 || a.Used() != (Amounts{Batch: 50}) {
			t.Errorf("%s: %v, %d are held, used %v", name, err, held, a.Used())
		}
		if !a.TryAcquire(Decode, 1) {
			t.Errorf("%s: nothing can be taken after the evictions", name)
		}
	}
}

// Memory on offer goes to one who needs it.
func TestGrowTakesOffers(t *testing.T) {
	b := NewBudget(100)
	a, err := b.Reserve(0, Amounts{Batch: 40})
	if err != nil {
		t.Fatal(err)
	}
	offered, err := b.Reserve(0, Amounts{Store: 60})
	if err != nil {
		t.Fatal(err)
	}
	b.Offer(offered, offered.Close)
	if err := a.Grow(Batch, 70); err != nil || b.Admitted() != 70 {
		t.Errorf("%v, %d are admitted", err, b.Admitted())
	}
}

// The reservation may exceed the limit; what is taken for later keeps to the limit.
func TestTryAcquireKeepsToTheLimit(t *testing.T) {
	a, err := NewBudget(0).Reserve(100, Amounts{Decode: 50, Fetch: 50})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Grow(Decode, 90); err != nil {
		t.Fatal(err)
	}
	if a.TryAcquire(Fetch, 20) || !a.TryAcquire(Fetch, 10) {
		t.Errorf("used %v", a.Used())
	}
}
