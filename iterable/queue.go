package iterable

import (
	"container/heap"
	"context"
	"sync"
)

// A queue hands fetched loads to the goroutines that decode: always the first one in the schedule,
// so that what the consumer waits for never stands behind what it needs later, however many loads
// were fetched meanwhile.
type queue struct {
	places chan struct{} // one for each load that is offered and not taken

	mu    sync.Mutex
	loads loadHeap
}

func newQueue() *queue { return &queue{places: make(chan struct{})} }

// put offers a load and waits until one is taken, this or one that is needed sooner. When ctx ends
// first, the load is left until the close.
func (q *queue) put(ctx context.Context, l *load) {
	q.mu.Lock()
	heap.Push(&q.loads, l)
	q.mu.Unlock()
	select {
	case q.places <- struct{}{}:
	case <-ctx.Done():
	}
}

// take waits for a load; nil when there will be none any more. After the close the remaining loads
// are still handed out.
func (q *queue) take() *load {
	<-q.places
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.loads) == 0 {
		return nil
	}
	return heap.Pop(&q.loads).(*load)
}

// close says that no more loads come.
func (q *queue) close() { close(q.places) }

// loadHeap is loads by their number in the schedule.
type loadHeap []*load

func (h loadHeap) Len() int           { return len(h) }
func (h loadHeap) Less(i, j int) bool { return h[i].number < h[j].number }
func (h loadHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *loadHeap) Push(x any)        { *h = append(*h, x.(*load)) }
func (h *loadHeap) Pop() any {
	old := *h
	l := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return l
}
