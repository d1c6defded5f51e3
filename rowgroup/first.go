package rowgroup

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
)

// each calls work for 0 to n-1, so many at a time. The error is the first of them, in their order,
// that has one.
func each(ctx context.Context, n, parallel int, work func(ctx context.Context, i int) error) error {
	var next atomic.Int64
	var workers sync.WaitGroup
	first := newFirstError()
	for range min(parallel, n) {
		workers.Go(func() {
			for {
				i := int(next.Add(1) - 1)
				if i >= n {
					return
				}
				one, ok := first.begin(ctx, i)
				if !ok {
					return
				}
				first.end(i, work(one, i))
			}
		})
	}
	workers.Wait()
	return first.err
}

// firstError keeps the first error in the order of the work, and stops later work.
type firstError struct {
	mu       sync.Mutex
	at       int // math.MaxInt: none yet
	err      error
	underWay map[int]context.CancelFunc
}

func newFirstError() *firstError {
	return &firstError{at: math.MaxInt, underWay: map[int]context.CancelFunc{}}
}

// begin returns the context for the i-th; ok is false when one before it has an error.
func (f *firstError) begin(ctx context.Context, i int) (_ context.Context, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i > f.at {
		return nil, false
	}
	ctx, f.underWay[i] = context.WithCancel(ctx)
	return ctx, true
}

// end says what came of the i-th.
func (f *firstError) end(i int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.underWay[i]()
	delete(f.underWay, i)
	if err == nil || i > f.at {
		return
	}
	f.at, f.err = i, err
	for k, stop := range f.underWay {
		if k > i {
			stop()
		}
	}
}
