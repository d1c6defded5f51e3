package feed

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/loader"
)

// A tally adds up what the runs of a session did.
type tally struct {
	mu      sync.Mutex
	asked   time.Time // the first JOIN
	sum     Figures
	loaders map[*loader.Loader]time.Time // those at work, and since when
}

// joined notes that somebody waits for batches.
func (t *tally) joined() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asked.IsZero() {
		t.asked = time.Now()
	}
}

func (t *tally) begins(l *loader.Loader) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.loaders == nil {
		t.loaders = map[*loader.Loader]time.Time{}
	}
	t.loaders[l] = time.Now()
}

func (t *tally) ends(l *loader.Loader) {
	stats := l.Stats()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.Took += time.Since(t.loaders[l])
	t.sum.Loaders = append(t.sum.Loaders, stats)
	delete(t.loaders, l)
}

// batch counts a batch that is to be handed out.
func (t *tally) batch(b *loader.Batch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sum.Batches == 0 {
		t.sum.FirstBatch = time.Since(t.asked)
	}
	t.sum.Batches++
	t.sum.Rows += int64(b.Valid)
	t.sum.Bytes += b.Bytes()
}

// figures are those of the loaders at work and of those that have ended.
func (t *tally) figures() Figures {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.sum
	f.Loaders = slices.Clone(f.Loaders)
	for l := range maps.Keys(t.loaders) {
		f.Loaders = append(f.Loaders, l.Stats())
		f.Took += time.Since(t.loaders[l])
	}
	return f
}
