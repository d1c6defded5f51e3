package rowgroup

import (
	"encoding/binary"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/shard"
)

// Partition columns follow the columns of the files, in path order. A file's column of the same
// name is left out.

// A partitionColumn is a projected partition column with its node in each shard.
type partitionColumn struct {
	field *column.Field
	nodes []*node // one per shard; equal values share one
}

// splitPartitions separates the partition columns from the projection; the rest is read from files.
func splitPartitions(all []shard.PartitionColumn, paths []string) (wanted []shard.PartitionColumn, rest []string) {
	if paths == nil {
		return all, nil
	}
	rest = make([]string, 0, len(paths))
	for _, p := range paths {
		if !slices.ContainsFunc(all, func(c shard.PartitionColumn) bool { return c.Key == p }) {
			rest = append(rest, p)
		}
	}
	for _, c := range all {
		if slices.Contains(paths, c.Key) {
			wanted = append(wanted, c)
		}
	}
	return wanted, rest
}

// dropColumns takes the columns with a partition's name out of the united schema, which remembers
// the name.
func (u *unionNode) dropColumns(partitions []shard.PartitionColumn) {
	for _, p := range partitions {
		u.partitions = append(u.partitions, p.Key)
	}
	u.children = slices.DeleteFunc(u.children, func(c *unionNode) bool {
		return slices.ContainsFunc(partitions, func(p shard.PartitionColumn) bool { return p.Key == c.key.name })
	})
}

func newPartitionColumn(p shard.PartitionColumn) partitionColumn {
	f := &column.Field{Name: p.Key, Partition: true}
	switch p.Type {
	case shard.PartitionInt64:
		f.Kind, f.Type, f.Width = column.Fixed, column.TypeInt64, 8
	case shard.PartitionDate:
		f.Kind, f.Type, f.Width = column.Fixed, column.TypeDate, 4
	default:
		f.Kind, f.Type = column.Binary, column.TypeString
	}
	c := partitionColumn{field: f, nodes: make([]*node, len(p.Values))}
	same := map[shard.PartitionValue]*node{}
	for i, v := range p.Values {
		if same[v] == nil {
			same[v] = &node{field: f, path: f.Name, partition: newPartitionValue(f, v)}
		}
		c.nodes[i] = same[v]
		f.Nullable = f.Nullable || v.Null
	}
	return c
}

func newPartitionValue(f *column.Field, v shard.PartitionValue) *partitionValue {
	if v.Null {
		return &partitionValue{null: true}
	}
	switch f.Type {
	case column.TypeInt64:
		return &partitionValue{data: binary.LittleEndian.AppendUint64(nil, uint64(v.Int))}
	case column.TypeDate:
		return &partitionValue{data: binary.LittleEndian.AppendUint32(nil, uint32(v.Int))}
	}
	return &partitionValue{data: []byte(v.Text)}
}
