package shardfeed

import (
	"context"
	"errors"

	"github.com/shardfeed/shardfeed/iterable"
)

// Verify reads and decodes what the spec names of every shard, from where it is stored and not from
// a cache, and lists what is lost. verified, if not nil, is called after each row group with the
// rows so far and those of all, one call at a time.
func Verify(ctx context.Context, s Spec, e Events, verified func(rows, of int64)) (v *iterable.Verification, err error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	o := s.options()
	o.IndexDir, o.DefaultMemory, o.Events = s.Places().Index, s.RankMemory(), e.ofDataset()
	o.DecodeLimit = s.decodeLimit()
	if err := s.readFiles(ctx, &o); err != nil {
		return nil, err
	}
	stores, err := s.Stores(e)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()
	return iterable.Verify(ctx, stores, s.Addresses, o, verified)
}
