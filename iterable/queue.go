package iterable

import (
	"container/heap"
	"context"
	"sync"
)

// A queue hands fetched loads to the goroutines that decode: always the first one in the schedule,
// so that a load that the consumer waits for is never queued behind later ones, however many loads
// were fetched meanwhile.
type queue struct {
	places chan struct{} // one for each load that is offered and not taken

	mu    sync.Mutex
	loads minHeap[*load] // by number
}

func newQueue() *queue {
	return &queue{
		places: make(chan struct{}),
		loads:  minHeap[*load]{less: func(a, b *load) bool { return a.number < b.number }},
	}
}

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

// take waits for a load, and returns nil when no more will come. After the close the remaining
// loads are still handed out.
func (q *queue) take() *load {
	<-q.places
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.loads.Len() == 0 {
		return nil
	}
	return heap.Pop(&q.loads).(*load)
}

// close reports that no more loads come.
func (q *queue) close() { close(q.places) }

// A minHeap is for package container/heap.
type minHeap[T any] struct {
	items []T
	less  func(a, b T) bool
}

func (h *minHeap[T]) Len() int           { return len(h.items) }
func (h *minHeap[T]) Less(i, j int) bool { return h.less(h.items[i], h.items[j]) }
func (h *minHeap[T]) Swap(i, j int)      { h.items[i], h.items[j] = h.items[j], h.items[i] }
func (h *minHeap[T]) Push(x any)         { h.items = append(h.items, x.(T)) }
func (h *minHeap[T]) Pop() any {
	last := len(h.items) - 1
	x := h.items[last]
	clear(h.items[last:])
	h.items = h.items[:last]
	return x
}
