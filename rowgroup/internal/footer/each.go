package footer

import (
	"context"
	"sync"
)

// Each calls work for 0 to n-1, at most parallel at a time. It returns the error of the lowest
// number that fails, which cancels the work on higher ones.
func Each(ctx context.Context, n, parallel int, work func(ctx context.Context, i int) error) error {
	var mu sync.Mutex
	var first error
	next, end := 0, n                        // end is the one with the first error
	underWay := map[int]context.CancelFunc{} // what ends the work on each
	var workers sync.WaitGroup
	for range min(parallel, n) {
		workers.Go(func() {
			mu.Lock()
			for next < end {
				i := next
				next++
				one, stop := context.WithCancel(ctx)
				underWay[i] = stop
				mu.Unlock()
				err := work(one, i)
				mu.Lock()
				stop()
				delete(underWay, i)
				if err == nil || i > end {
					continue
				}
				end, first = i, err
				for k, stop := range underWay {
					if k > i {
						stop()
					}
				}
			}
			mu.Unlock()
		})
	}
	workers.Wait()
	return first
}
