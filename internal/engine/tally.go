package engine

import (
	"slices"
	"time"

	"github.com/shardfeed/shardfeed/loader"
)

// A tally adds up what the runs of a session did. The session's mutex guards it.
type tally struct {
	asked   time.Time // the first JOIN
	sum     Figures
	loaders map[*loader.Loader]time.Time // those at work, and since when
}

func (t *tally) joined() {
	if t.asked.IsZero() {
		t.asked = time.Now()
	}
}

func (t *tally) begins(l *loader.Loader) {
	if t.loaders == nil {
		t.loaders = map[*loader.Loader]time.Time{}
	}
	t.loaders[l] = time.Now()
}

func (t *tally) ends(l *loader.Loader) {
	t.sum.add(l, t.loaders[l])
	delete(t.loaders, l)
}

func (f *Figures) add(l *loader.Loader, since time.Time) {
	f.Loaders = append(f.Loaders, l.Stats())
	f.Took += time.Since(since)
}

func (t *tally) batch(b *loader.Batch) {
	if t.sum.Batches == 0 {
		t.sum.FirstBatch = time.Since(t.asked)
	}
	t.sum.Batches++
	t.sum.Rows += int64(b.Valid)
	t.sum.Bytes += b.Bytes()
	t.sum.State = b.State
}

// figures returns the sum over the loaders at work and the ended ones.
func (t *tally) figures() Figures {
	f := t.sum
	f.Loaders = slices.Clip(f.Loaders)
	f.Wait = f.Wait.Clone()
	for l, since := range t.loaders {
		f.add(l, since)
	}
	return f
}
