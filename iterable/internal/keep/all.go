package keep

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

// Kept reports what All did. Bytes count images.
type Kept struct {
	Columns int   // worth keeping, of all sources
	There   int64 // bytes that were kept before
	Wrote   int64 // bytes that All added
	Lacking int   // row groups that found no room
}

// ErrNoTier reports that a data set has no tier.
var ErrNoTier = errors.New("nothing is kept decoded")

// All keeps row groups of manifests in the tier, as keepers do beside their streams, but with all
// processors: those that wanted selects, if this machine holds their bytes. done is called with the
// number of row groups that are kept, and the number that are wanted.
func (k *Keeping) All(ctx context.Context, manifests []*rowgroup.Reader, wanted func(s shard.Shard, rowGroup int32) bool, done func(n, of int)) (kept Kept, err error) {
	if !k.kept {
		return kept, ErrNoTier
	}
	places := placesOf(manifests, wanted)
	account, err := k.budget.Reserve(k.memory, mem.Amounts{mem.Decode: k.memory / 2})
	if err != nil {
		return kept, err
	}
	defer account.Close()
	all := keepingAll{gains: &k.gains, account: account, places: make(chan Place), done: done, of: len(places)}
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
	for _, m := range manifests {
		if len(m.Groups()) > 0 {
			all.kept.Columns += len(k.gains.columns(m, 0, true))
		}
	}
	return all.kept, err
}

// placesOf lists the row groups that are wanted.
func placesOf(manifests []*rowgroup.Reader, wanted func(s shard.Shard, rowGroup int32) bool) (all []Place) {
	for _, m := range manifests {
		shards := m.Shards()
		for g, group := range m.Groups() {
			if group.Rows > 0 && wanted(shards[group.Shard], group.RowGroup) {
				all = append(all, Place{m, g})
			}
		}
	}
	return all
}

// keepingAll is a call of All.
type keepingAll struct {
	gains   *gains
	account *mem.Account
	places  chan Place

	mu    sync.Mutex
	kept  Kept
	ended int
	done  func(n, of int)
	of    int
}

// run keeps row groups until the channel closes.
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

func (a *keepingAll) keep(ctx context.Context, w tierWriters, p Place) error {
	need := p.Manifest.TierMemory(p.Group)
	if room := a.account.Reserved().Total(); need > room {
		need = room // one row group at a time, then
	}
	if err := a.account.Acquire(ctx, mem.Decode, need); err != nil {
		return err
	}
	image, err := w.keep(ctx, p, a.gains.columns(p.Manifest, p.Group, true), a.account, need)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && image.Wrote:
		a.kept.Wrote += image.Bytes
		a.gains.learn(p.Manifest, image)
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

// isDamage reports whether an error is about the data, rather than the tier.
func isDamage(err error) bool {
	var e *rowgroup.Error
	return errors.As(err, &e)
}
