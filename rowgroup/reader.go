package rowgroup

import (
	"context"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/image"
	"github.com/shardfeed/shardfeed/shard"
)

// A Reader fetches the row groups of its [Manifest], and gives decoders memory for them. It is safe
// for concurrent use.
type Reader struct {
	*Manifest

	objects *objects
	pool    *mem.Pool
	hot     *footer.Hot
	mender  *footer.Mender
	tier    *image.Shards // nil: no row groups are kept decoded
}

// Open reads the footers of the shards, or finds them in the index, unites their schemas by name
// and projects them. The shards keep their order.
func Open(ctx context.Context, store shard.Store, shards []shard.Shard, o Options) (*Reader, error) {
	all, err := OpenParts(ctx, store, []Part{{Shards: shards, Table: o.Table, RuleColumns: o.RuleColumns}}, o)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// newReaders returns the readers of manifests of one data set, which share all but the tier.
func newReaders(store shard.Store, shards []shard.Shard, manifests []*Manifest, o Options) []*Reader {
	all := make([]*Reader, len(manifests))
	shared := Reader{objects: newObjects(store, shards), pool: (*mem.Pool)(o.Pool), hot: o.Hot}
	shared.mender = footer.NewMender(store, o.footers(), manifests[0].records)
	for i, m := range manifests {
		r := shared
		r.Manifest, r.tier = m, image.NewShards(o.Tier, o.Mapped)
		all[i] = &r
	}
	return all
}

// Close closes the shards that are open. Raws that were fetched must have been released.
func (m *Reader) Close() error { return m.objects.close() }
