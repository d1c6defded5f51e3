package feed

import (
	"context"
	"sync"

	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A router is the allocator of a run: the n-th batch of an iteration lies in the ring of the (n mod K)-th consumer. It counts the steps of
// the epochs by itself, because the loader begins batches of the next epoch before the last of this one were dealt out.
type router struct {
	nobody loader.Allocator // for consumers that have left
	links  []*link          // by the steps

	mu    sync.Mutex
	steps shuffle.Steps
	from  int64 // where the first step of the epoch begins
	n     int64 // batches of the epoch that have begun
	left  int64 // and that have not
}

func newRouter(it *iteration, links []*link, nobody loader.Allocator) *router {
	_, from, count := epochOf(it.state, it.steps)
	return &router{nobody: nobody, links: links, steps: it.steps, from: from, left: count}
}

// Begin begins the next batch.
func (r *router) Begin(ctx context.Context, size int) (loader.Memory, error) {
	return r.take().memory(ctx, size, r.nobody)
}

// take is where the next batch goes.
func (r *router) take() *link {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left == 0 {
		_, r.from, r.left = epochOf(shuffle.State{Position: r.steps.Next(r.from)}, r.steps)
		r.n = 0
	}
	l := r.links[r.n%int64(len(r.links))]
	r.n++
	r.left--
	return l
}
