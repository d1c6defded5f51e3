package engine

import (
	"maps"
	"slices"
	"sync"

	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/loader"
)

// works counts the work of all open and closed sessions by rank. It is safe for concurrent use.
type works struct {
	mu    sync.Mutex
	ranks map[int]*rankWork
}

// A rankWork is a rank's work: of the loaders that have ended, and those at work.
type rankWork struct {
	ended   RankWork
	loaders map[*loader.Loader]bool
}

// of changes the work of a rank.
func (w *works) of(rank int, change func(*rankWork)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.ranks[rank]
	if r == nil {
		r = &rankWork{ended: RankWork{Rank: rank}, loaders: map[*loader.Loader]bool{}}
		w.ranks[rank] = r
	}
	change(r)
}

func (w *works) begins(rank int, l *loader.Loader) {
	w.of(rank, func(r *rankWork) { r.loaders[l] = true })
}

func (w *works) ends(rank int, l *loader.Loader) {
	w.of(rank, func(r *rankWork) {
		r.ended.add(l.Stats().Stream)
		delete(r.loaders, l)
	})
}

func (w *works) batch(rank int, b *loader.Batch) {
	w.of(rank, func(r *rankWork) {
		r.ended.Batches++
		r.ended.Rows += int64(b.Valid)
		r.ended.Lost += int64(b.Lost)
		r.ended.Bytes += b.Bytes()
	})
}

func (w *works) waited(rank int, more wait.Report) {
	w.of(rank, func(r *rankWork) { r.ended.Wait.Add(more) })
}

// list returns the work of each rank that has any.
func (w *works) list() []RankWork {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := []RankWork{}
	for _, rank := range slices.Sorted(maps.Keys(w.ranks)) {
		r := w.ranks[rank]
		sum := r.ended
		sum.Wait = sum.Wait.Clone()
		for l := range r.loaders {
			sum.add(l.Stats().Stream)
		}
		all = append(all, sum)
	}
	return all
}
