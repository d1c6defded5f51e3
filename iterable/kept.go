package iterable

import (
	"context"

	"github.com/shardfeed/shardfeed/iterable/internal/keep"
	"github.com/shardfeed/shardfeed/shard"
)

// KeptDecoded reports what KeepDecoded did.
type KeptDecoded = keep.Kept

// KeptSpace compares the bytes of a decoded data set with what its tier holds.
type KeptSpace = keep.Space

// ErrNoTier reports that a data set has no tier.
var ErrNoTier = keep.ErrNoTier

// KeepDecoded keeps row groups decoded in the tier, as streams do beside their work, but with all
// processors: those that wanted selects, if this machine holds their bytes. done is called with the
// number of row groups that are kept, and the number that are wanted.
func (d *Dataset) KeepDecoded(ctx context.Context, wanted func(s shard.Shard, rowGroup int32) bool, done func(n, of int)) (KeptDecoded, error) {
	return d.keeping.All(ctx, d.Manifests(), wanted, done)
}

// KeptSpace sums up what is kept decoded, without reading it; ok is false without a tier.
func (d *Dataset) KeptSpace() (k KeptSpace, ok bool) {
	return d.keeping.Space(d.Manifests(), d.options.TierLimit)
}

// imageBytes predicts the bytes of the images of all row groups.
func (d *Dataset) imageBytes() (n int64) {
	for _, s := range d.sources {
		bytes, _ := s.sizes.total()
		n += bytes
	}
	return n
}
