package hive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/delta"
	"github.com/shardfeed/shardfeed/table/iceberg"
	"github.com/shardfeed/shardfeed/table/internal/spark"
	"github.com/shardfeed/shardfeed/table/internal/thrift"
)

// Open opens a table by its address. A plain table is opened as it is now.
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
	if o.NameOnly {
		return nil, wrap(text, errNoSnapshots)
	}
	s, err := d.snapshot(ctx, partitions, o)
	if err != nil {
		return nil, wrap(text, err)
	}
	return s, nil
}

var errNoSnapshots = errors.New("it is a plain table of Hive, which has no snapshots: it has the current files of its partitions")

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
	return nil, wrap(text, errNoSnapshots)
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

// A place is a directory of files with the same values of the partition columns.
type place struct {
	location  string
	constants []table.Constant
}

// snapshot lists the files of the table.
func (d *described) snapshot(ctx context.Context, partitions []thrift.Struct, o table.Options) (*table.Snapshot, error) {
	if o.Snapshot != "" {
		return nil, fmt.Errorf("%w; leave the snapshot out", errNoSnapshots)
	}
	fields, not, err := d.fields()
	if err != nil {
		return nil, err
	}
	places := []place{{location: d.location()}}
	if len(d.keys) > 0 {
		if places, err = d.places(fields, partitions); err != nil {
			return nil, err
		}
	}
	s := &table.Snapshot{Format: "Hive", Table: d.database + "." + d.table, Name: "current", Fields: fields, Unreadable: not}
	s.Files, err = list(ctx, places, o)
	return s, err
}

// nullValue is the value of a partition column that is null.
const nullValue = "__HIVE_DEFAULT_PARTITION__"

// places returns where the partitions are. They are Partition of hive_metastore.thrift.
func (d *described) places(fields []table.Field, partitions []thrift.Struct) ([]place, error) {
	all := make([]place, 0, len(partitions))
	first := len(fields) - len(d.keys)
	for _, p := range partitions {
		values, at := p.Texts(1), storageOf(p.Struct(6))
		if len(values) != len(d.keys) || at.location == "" {
			return nil, fmt.Errorf("%w: its partition %q has no location, or other columns than the table", shard.ErrCorrupt, values)
		}
		if d.provider() == "hive" {
			if err := at.check(); err != nil {
				return nil, fmt.Errorf("its partition %q: %w", values, err)
			}
		}
		one := place{location: at.location}
		for i, value := range values {
			c := table.Constant{Field: first + i, Value: table.Value{Null: true}}
			if value != nullValue {
				field := fields[first+i].Column
				data, err := spark.ParseValue(field, value)
				if err != nil {
					return nil, fmt.Errorf("%w: the value %q of the partition column %q is not %s", shard.ErrCorrupt, value, field.Name, field)
				}
				c.Value = table.Value{Data: data}
			}
			one.constants = append(one.constants, c)
		}
		all = append(all, one)
	}
	return all, nil
}

// list lists the files of places, in the order of their addresses.
func list(ctx context.Context, places []place, o table.Options) (files []table.File, err error) {
	found := make([][]shard.Shard, len(places))
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(max(1, o.Parallel))
	for i, p := range places {
		group.Go(func() (err error) {
			found[i], err = o.Store.List(inner, table.Literal(table.AddressOf(p.location)))
			if errors.Is(err, shard.ErrNotExist) {
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i, p := range places {
		for _, s := range found[i] {
			if s.Size == 0 {
				continue // Hive writes such files for buckets without rows
			}
			s.Partitions = nil
			files = append(files, table.File{Shard: s, Rows: -1, Constants: p.constants})
		}
	}
	slices.SortFunc(files, func(a, b table.File) int { return strings.Compare(a.Shard.URI, b.Shard.URI) })
	for i := 1; i < len(files); i++ {
		if files[i].Shard.URI == files[i-1].Shard.URI {
			return nil, fmt.Errorf("%w: the file %s is in two partitions", shard.ErrBadURI, files[i].Shard.URI)
		}
	}
	return files, nil
}
