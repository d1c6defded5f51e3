package rowgroup

import (
	"context"
	"math"
	"sync"
)

// firstError keeps the error of the first shard, in their order, that has one, and stops the work on all behind it: nobody waits for them.
type firstError struct {
	mu       sync.Mutex
	at       int // math.MaxInt: none yet
	err      error
	underWay map[int]context.CancelFunc
}

func newFirstError() *firstError {
	return &firstError{at: math.MaxInt, underWay: map[int]context.CancelFunc{}}
}

// begin returns the context for the work on shard i; ok is false when a shard before it has an error.
func (f *firstError) begin(ctx context.Context, i int) (_ context.Context, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i > f.at {
		return nil, false
	}
	ctx, f.underWay[i] = context.WithCancel(ctx)
	return ctx, true
}

// end says what came of shard i.
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
