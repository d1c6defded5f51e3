package saved

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/shard"
)

// looksAtOnce is how many local files are looked at in parallel: they may be on a network disk.
const looksAtOnce = 32

// Current returns the shards as they are on this machine now, and the plan. A plan that was made
// from other files of the same size and time loses its footers and counts.
func (p *Plan) Current(ctx context.Context, stores shard.Stores, shards []shard.Shard) ([]shard.Shard, *Plan, error) {
	if p == nil {
		return shards, nil, nil
	}
	now := slices.Clone(shards) // other data sets may have the plan too
	tasks, within := errgroup.WithContext(ctx)
	tasks.SetLimit(looksAtOnce)
	for some := range slices.Chunk(now, 256) {
		tasks.Go(func() error {
			for i := range some {
				if now := shard.InstanceOf(stores, some[i].URI); now != "" { // else opening it returns the error
					some[i].Instance = now
				}
			}
			return within.Err()
		})
	}
	if err := tasks.Wait(); err != nil {
		return nil, nil, err
	}
	for i, s := range now {
		if i < len(p.Shards) && s.Instance != p.Shards[i].Instance || len(p.Shards) == 0 && s.Instance != "" {
			stale := *p
			stale.Footers, stale.Counts = nil, nil
			return now, &stale, nil
		}
	}
	return now, p, nil
}
