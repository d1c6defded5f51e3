package iterable

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/internal/cores"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
)

// KeptDecoded is what KeepDecoded did. Bytes are those of images.
type KeptDecoded struct {
	Columns int   // that are worth keeping, of all sources
	There   int64 // bytes that were kept before
	Wrote   int64
	Lacking int // row groups that found no room
}

// ErrNoTier is a data set that keeps nothing decoded.
var ErrNoTier = errors.New("nothing is kept decoded")

// KeepDecoded keeps the columns of row groups decoded in the tier, as streams do beside their work,
// but with all processors: of the row groups that wanted names, as far as this machine holds their
// bytes. done is called with the number of row groups that are kept, of so many.
func (d *Dataset) KeepDecoded(ctx context.Context, wanted func(s shard.Shard, rowGroup int32) bool, done func(n, of int)) (k KeptDecoded, err error) {
	if d.options.Tier == nil {
		return k, ErrNoTier
	}
	places := d.places(wanted)
	account, err := d.budget.Reserve(d.memory, mem.Amounts{mem.Decode: d.memory / 2})
	if err != nil {
		return k, err
	}
	defer account.Close()
	all := keepingAll{dataset: d, account: account, places: make(chan place), done: done, of: len(places)}
	tasks, ctx := errgroup.WithContext(ctx)
	for range cores.Number() {
		tasks.Go(func() error { return all.run(ctx) })
	}
	tasks.Go(func() error {
		defer close(all.places)
		for _, p := range places {
			select {
			case all.places <- p:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	err = tasks.Wait()
	for _, s := range d.sources {
		if len(s.manifest.Groups()) > 0 {
			all.kept.Columns += len(d.gains.columns(s.manifest, 0, true))
		}
	}
	return all.kept, err
}

// places are the row groups that are wanted.
func (d *Dataset) places(wanted func(s shard.Shard, rowGroup int32) bool) (all []place) {
	for _, s := range d.sources {
		shards := s.manifest.Shards()
		for g, group := range s.manifest.Groups() {
			if group.Rows > 0 && wanted(shards[group.Shard], group.RowGroup) {
				all = append(all, place{s.manifest, g})
			}
		}
	}
	return all
}

// keepingAll is a KeepDecoded under way.
type keepingAll struct {
	dataset *Dataset
	account *mem.Account
	places  chan place

	mu    sync.Mutex
	kept  KeptDecoded
	ended int
	done  func(n, of int)
	of    int
}

// run keeps row groups until there are no more.
func (a *keepingAll) run(ctx context.Context) error {
	writers := tierWriters{}
	defer writers.close()
	for p := range a.places {
		if err := a.keep(ctx, writers, p); err != nil {
			return err
		}
		a.mu.Lock()
		a.ended++
		a.done(a.ended, a.of)
		a.mu.Unlock()
	}
	return nil
}

func (a *keepingAll) keep(ctx context.Context, w tierWriters, p place) error {
	need := p.manifest.TierMemory(p.group)
	if room := a.account.Reserved().Total(); need > room {
		need = room // one row group at a time, then
	}
	if err := a.account.Acquire(ctx, mem.Decode, need); err != nil {
		return err
	}
	image, err := w.keep(ctx, p, a.dataset.gains.columns(p.manifest, p.group, true), a.account, need)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && image.Wrote:
		a.kept.Wrote += image.Bytes
		a.dataset.gains.learn(p.manifest, image)
	case err == nil:
		a.kept.There += image.Bytes
	case errors.Is(err, rowgroup.ErrNotKept) && !errors.Is(err, rowgroup.ErrTooLarge):
	case isDamage(err) && !errors.Is(err, rowgroup.ErrTooLarge):
		return err
	default:
		a.kept.Lacking++
	}
	return nil
}

// isDamage says whether an error is about the data, not about the tier.
func isDamage(err error) bool {
	var e *rowgroup.Error
	return errors.As(err, &e)
}
