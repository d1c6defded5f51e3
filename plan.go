package shardfeed

import (
	"context"
	"errors"

	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shard"
)

// ReadPlan reads the file that Plan names: a path, or an address, which it asks the stores for as it
// would for shards.
func (s Spec) ReadPlan(ctx context.Context) (p *iterable.SavedPlan, err error) {
	if scheme, _ := shard.SplitScheme(s.Plan); scheme == "" {
		return iterable.ReadPlan(s.Plan)
	}
	stores, err := s.Stores(Events{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()
	return iterable.FetchPlan(ctx, stores, s.Plan)
}
