package ahead

import (
	"context"
	"sync"

	"github.com/shardfeed/shardfeed/iterable/internal/minheap"
)

// A queue hands fetched loads to the goroutines that decode: always the first one in the schedule,
// so that a load that the consumer waits for is never queued behind later ones, however many loads
// were fetched meanwhile.
type queue struct {
	places chan struct{} // one for each load that is offered and not taken

	mu    sync.Mutex
	loads *minheap.Heap[*Load] // by number
}

func newQueue() *queue {
	return &queue{
		places: make(chan struct{}),
		loads:  minheap.New(func(a, b *Load) bool { return a.number < b.number }),
	}
}

// put offers a load and waits until one is taken, this or one that is needed sooner. When ctx ends
// first, the load is left until the close.
func (q *queue) put(ctx context.Context, l *Load) {
	q.mu.Lock()
	q.loads.Push(l)
	q.mu.Unlock()
	select {
	case q.places <- struct{}{}:
	case <-ctx.Done():
	}
}

// take waits for a load, and returns nil when no more will come. After the close the remaining
// loads are still handed out.
func (q *queue) take() *Load {
	<-q.places
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.loads.Len() == 0 {
		return nil
	}
	return q.loads.Pop()
}

// close reports that no more loads come.
func (q *queue) close() { close(q.places) }
