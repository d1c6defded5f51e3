// Package all lists the formats of tables that shardfeed knows, in one place that is read and not
// registered.
package all

import (
	"context"
	"fmt"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/delta"
	"github.com/shardfeed/shardfeed/table/hive"
	"github.com/shardfeed/shardfeed/table/iceberg"
	"github.com/shardfeed/shardfeed/table/iceberg/rest"
)

// Formats are all formats. The zero value finds catalogs as pyiceberg does.
type Formats struct {
	Catalogs   rest.Options
	Metastores hive.Options
}

var _ table.Formats = Formats{}

// Open opens a snapshot of the table at an address.
func (f Formats) Open(ctx context.Context, address string, o table.Options) (*table.Snapshot, error) {
	switch format, at := table.Cut(address); format {
	case "delta":
		return delta.Open(ctx, at, o)
	case hive.Scheme:
		return hive.Open(ctx, at, f.Metastores, o)
	case "iceberg":
		if rest.IsTable(at) {
			return rest.Open(ctx, at, f.Catalogs, o)
		}
		return iceberg.Open(ctx, at, o)
	}
	return nil, unknown(address)
}

// History returns the snapshots of the table at an address, the oldest first.
func (f Formats) History(ctx context.Context, address string, o table.Options) ([]table.Version, error) {
	switch format, at := table.Cut(address); format {
	case "delta":
		return delta.History(ctx, at, o)
	case hive.Scheme:
		return hive.History(ctx, at, f.Metastores, o)
	case "iceberg":
		if rest.IsTable(at) {
			return rest.History(ctx, at, f.Catalogs)
		}
		return iceberg.History(ctx, at, o)
	}
	return nil, unknown(address)
}

func unknown(address string) error {
	return &shard.Error{
		Op: "table", URI: address, Err: fmt.Errorf("%w: it is no address of a table", shard.ErrBadURI),
		Hint: "put delta+ or iceberg+ in front of the address of the table's directory, as in delta+s3://bucket/table",
	}
}
