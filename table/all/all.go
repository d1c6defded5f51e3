// Package all lists the formats of tables that shardfeed knows, in one place that is read and not
// registered.
package all

import (
	"context"
	"fmt"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/delta"
	"github.com/shardfeed/shardfeed/table/iceberg"
)

// Formats are all formats.
type Formats struct{}

var _ table.Formats = Formats{}

// Open opens a snapshot of the table at an address.
func (Formats) Open(ctx context.Context, address string, o table.Options) (*table.Snapshot, error) {
	switch format, at := table.Cut(address); format {
	case "delta":
		return delta.Open(ctx, at, o)
	case "iceberg":
		return iceberg.Open(ctx, at, o)
	}
	return nil, unknown(address)
}

// History returns the snapshots of the table at an address, the oldest first.
func (Formats) History(ctx context.Context, address string, o table.Options) ([]table.Version, error) {
	switch format, at := table.Cut(address); format {
	case "delta":
		return delta.History(ctx, at, o)
	case "iceberg":
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
