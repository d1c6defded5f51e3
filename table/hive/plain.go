package hive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/internal/spark"
	"github.com/shardfeed/shardfeed/table/internal/thrift"
)

// A place is a directory of files with the same values of the partition columns.
type place struct {
	location  string
	created   int64 // seconds since 1970, by the metastore
	constants []table.Constant
}

// snapshot lists the files of the table, now or as they were at the snapshot that is asked for.
func (d *described) snapshot(ctx context.Context, partitions []thrift.Struct, o table.Options) (*table.Snapshot, error) {
	asked, err := parseMoment(o.Snapshot)
	if err != nil {
		return nil, err
	}
	fields, not, err := d.fields()
	if err != nil {
		return nil, err
	}
	places := []place{{location: d.location(), created: d.created}}
	if len(d.keys) > 0 {
		if places, err = d.places(fields, partitions); err != nil {
			return nil, err
		}
	}
	if o.Snapshot != "" {
		places = slices.DeleteFunc(places, func(p place) bool { return p.created > asked.created })
	}
	s := &table.Snapshot{Format: "Hive", Table: d.database + "." + d.table, Name: current, Fields: fields, Unreadable: not}
	if s.Files, err = list(ctx, places, o); err != nil || o.Snapshot == "" && !o.NameOnly {
		return s, err
	}
	found := momentOf(d.created, places, s)
	if o.Snapshot != "" && found != asked {
		return nil, fmt.Errorf("%w: snapshot %s cannot be read any more: since then its columns changed, or files in the partitions of that time were added, removed or replaced; a plain table of Hive keeps only its current files", shard.ErrNotExist, o.Snapshot)
	}
	s.Name, s.Time = found.String(), time.Unix(found.created, 0).UTC()
	return s, nil
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
		one := place{location: at.location, created: p.Int(4)}
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
