package ahead

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// Of the loads that wait the first of the schedule is taken, whatever the order in which they came.
func TestQueueOrder(t *testing.T) {
	q := newQueue()
	var putting sync.WaitGroup
	for _, n := range rand.Perm(64) {
		putting.Go(func() { q.put(t.Context(), &Load{number: int64(n)}) })
	}
	waitFor(t, func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.loads.Len() == 64
	})
	for n := range 64 {
		if l := q.take(); l.number != int64(n) {
			t.Fatalf("load %d came as the %d-th", l.number, n)
		}
	}
	putting.Wait()
	q.close()
	if l := q.take(); l != nil {
		t.Errorf("%+v after the end", l)
	}
}

// Every load comes out once, also when those who put them are stopped on the way.
func TestQueueLosesNothing(t *testing.T) {
	for round := range 50 {
		q := newQueue()
		ctx, cancel := context.WithCancel(t.Context())
		var putting, taking sync.WaitGroup
		for n := range 40 {
			putting.Go(func() { q.put(ctx, &Load{number: int64(n)}) })
		}
		var mu sync.Mutex
		seen := map[int64]int{}
		see := func(l *Load) {
			mu.Lock()
			defer mu.Unlock()
			seen[l.number]++
		}
		for range 3 {
			taking.Go(func() {
				for l := q.take(); l != nil; l = q.take() {
					see(l)
				}
			})
		}
		time.Sleep(rand.N(100 * time.Microsecond))
		cancel()
		putting.Wait()
		q.close()
		taking.Wait()
		if len(seen) != 40 {
			t.Fatalf("round %d: %d loads of 40", round, len(seen))
		}
		for n, times := range seen {
			if times != 1 {
				t.Fatalf("round %d: load %d came %d times", round, n, times)
			}
		}
	}
}
