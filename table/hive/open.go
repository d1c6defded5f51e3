package hive

import (
	"context"
	"errors"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/delta"
	"github.com/shardfeed/shardfeed/table/iceberg"
	"github.com/shardfeed/shardfeed/table/internal/thrift"
)

// Open opens a table by its address.
func Open(ctx context.Context, text string, m Options, o table.Options) (*table.Snapshot, error) {
	d, partitions, err := ask(ctx, text, m)
	if err != nil {
		return nil, wrap(text, err)
	}
	switch {
	case d.isIceberg():
		return iceberg.Open(ctx, table.AddressOf(d.parameters[metadataLocation]), o)
	case d.provider() == "delta":
		return delta.Open(ctx, table.AddressOf(d.location()), o)
	}
	s, err := d.snapshot(ctx, partitions, o)
	if err != nil {
		return nil, wrap(text, err)
	}
	return s, nil
}

// History lists the snapshots of an Iceberg or Delta table, the oldest first. For plain tables it
// fails.
func History(ctx context.Context, text string, m Options, o table.Options) ([]table.Version, error) {
	d, _, err := ask(ctx, text, m)
	if err != nil {
		return nil, wrap(text, err)
	}
	switch {
	case d.isIceberg():
		return iceberg.History(ctx, table.AddressOf(d.parameters[metadataLocation]), o)
	case d.provider() == "delta":
		return delta.History(ctx, table.AddressOf(d.location()), o)
	}
	return nil, wrap(text, errNoHistory)
}

func wrap(address string, err error) error {
	if e := (*shard.Error)(nil); errors.As(err, &e) {
		return err
	}
	return &shard.Error{Op: "table", URI: address, Err: err}
}

// ask asks a metastore for a table, and for its partitions if it is a plain one.
func ask(ctx context.Context, text string, o Options) (d *described, partitions []thrift.Struct, err error) {
	a, err := parseAddress(text)
	if err != nil {
		return nil, nil, err
	}
	m, err := dial(ctx, a.hosts, o)
	if err != nil {
		return nil, nil, err
	}
	defer m.close()
	t, err := m.table(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	d = describe(a, t)
	if d.isIceberg() || d.provider() == "delta" {
		return d, nil, nil
	}
	if err := d.check(); err != nil {
		return nil, nil, err
	}
	if len(d.keys) > 0 {
		partitions, err = m.partitions(ctx, a)
	}
	return d, partitions, err
}
