package shardfeed

import (
	"cmp"
	"context"

	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
	tables "github.com/shardfeed/shardfeed/table/all"
	"github.com/shardfeed/shardfeed/table/scan"
)

// Find lists the shards that addresses of the spec's kind name, without their footers, and the
// snapshot of the table that they are; nil without one.
func (s Spec) Find(ctx context.Context, stores shard.Stores, addresses []string, e Events) ([]shard.Shard, *table.Snapshot, error) {
	return iterable.Find(ctx, stores, addresses, iterable.Options{
		Reading: iterable.Reading{Strict: s.Strict}, Snapshot: s.Snapshot, Tables: tables.Formats{}, Events: iterable.Events{Noted: e.Files},
	})
}

// historyRequests is the requests at a time for the history of a table on a store that has no limit.
const historyRequests = 16

// Snapshots lists the snapshots of the table at an address, the oldest first.
func (s Spec) Snapshots(ctx context.Context, stores shard.Stores, address string) ([]table.Version, error) {
	_, at := table.Cut(address)
	return tables.Formats{}.History(ctx, address, table.Options{
		Store: stores, Scan: scan.New(stores), Parallel: cmp.Or(stores.Parallel(at), historyRequests),
	})
}

// onlyTables refuses a snapshot.
const onlyTables = "is of a table, and no address names one, as delta+s3://bucket/table does"

// noTable reports whether a snapshot is asked for and no address can name a table.
func noTable(snapshot string, addresses []string) bool {
	return snapshot != "" && !table.AnyTable(addresses)
}
