package shardfeed

import (
	"cmp"
	"context"

	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
	tables "github.com/shardfeed/shardfeed/table/all"
	"github.com/shardfeed/shardfeed/table/hive"
	"github.com/shardfeed/shardfeed/table/iceberg/rest"
	"github.com/shardfeed/shardfeed/table/scan"
)

// formats are the formats of tables, with the catalogs that the spec configures.
func (s Spec) formats() tables.Formats {
	o, err := rest.ParseOptions(s.storageOf("iceberg"))
	metastores, wrong := hive.ParseOptions(s.storageOf(hive.Scheme))
	if err != nil || wrong != nil {
		return tables.Formats{} // drivers reports it
	}
	if len(s.Env) > 0 {
		o.Getenv = func(name string) string { return s.Env[name] }
		metastores.Getenv = o.Getenv
		o.Environ = func() (all []string) {
			for name, value := range s.Env {
				all = append(all, name+"="+value)
			}
			return all
		}
	}
	o.CABundle, metastores.CABundle = s.Storage["ca-bundle"], cmp.Or(metastores.CABundle, s.Storage["ca-bundle"])
	login := &metastores.Login
	if login.Keytab == "" && login.CCache == "" {
		login.Keytab = s.Storage["keytab"]
	}
	login.Principal = cmp.Or(login.Principal, s.Storage["principal"])
	return tables.Formats{Catalogs: o, Metastores: metastores}
}

// storageOf returns the storage options of a store, or of tables' catalogs.
func (s Spec) storageOf(store string) map[string]string {
	given := map[string]string{}
	for key, value := range s.Storage {
		if storeOf(key) == store {
			given[key] = value
		}
	}
	return given
}

// Find lists the shards that addresses of the spec's kind name, without their footers, and the
// snapshot of the table that they are; nil without one.
func (s Spec) Find(ctx context.Context, stores shard.Stores, addresses []string, e Events) ([]shard.Shard, *table.Snapshot, error) {
	return iterable.Find(ctx, stores, addresses, iterable.Options{
		Reading: iterable.Reading{Strict: s.Strict}, Snapshot: s.Snapshot, Tables: s.formats(), IndexDir: s.Places().Index,
		Events: iterable.Events{Noted: e.Files},
	})
}

// historyRequests is the requests at a time for the history of a table, if its store has no limit.
const historyRequests = 16

// Snapshots lists the snapshots of the table at an address, the oldest first.
func (s Spec) Snapshots(ctx context.Context, stores shard.Stores, address string) ([]table.Version, error) {
	return s.formats().History(ctx, address, s.tableOptions(stores, address))
}

// tableOptions are the options for what the metadata of a table says.
func (s Spec) tableOptions(stores shard.Stores, address string) table.Options {
	_, at := table.Cut(address)
	return table.Options{Store: stores, Scan: scan.New(stores), Parallel: cmp.Or(stores.Parallel(at), historyRequests)}
}

// onlyTables refuses a snapshot.
const onlyTables = "is of a table, and no address names one, as delta+s3://bucket/table does"

// noTable reports whether a snapshot is asked for and no address can name a table.
func noTable(snapshot string, addresses []string) bool {
	return snapshot != "" && !table.AnyTable(addresses)
}
