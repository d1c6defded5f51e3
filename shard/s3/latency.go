package s3

import (
	"slices"
	"sync"
	"time"
)

// A latency tracks the times until answers start.
type latency struct {
	mu     sync.Mutex
	recent [128]time.Duration
	n      int // answers seen
	high   time.Duration
}

// highEvery is after how many answers the high quantile is computed again.
const highEvery = 16

func (l *latency) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recent[l.n%len(l.recent)] = d
	if l.n++; l.n%highEvery != 0 {
		return
	}
	seen := l.recent
	sorted := seen[:min(l.n, len(seen))]
	slices.Sort(sorted)
	l.high = sorted[len(sorted)*95/100]
}

// hedgeAfter is when a silent request is made again: after 3 times what 19 of 20 take, or least.
func (l *latency) hedgeAfter(least time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(least, 3*l.high)
}
