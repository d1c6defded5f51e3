package rowgroup

import (
	"encoding/binary"
	"slices"

	"github.com/shardfeed/shardfeed/column"
)

// Partition columns follow the columns of the files, in path order. A file's column of the same
// name is left out.

// A partitionColumn is a projected partition column with its node in each shard.
type partitionColumn struct {
	field *column.Field
	nodes []*node // one per shard; equal values share one
}

// splitPartitions separates the partition columns from the projection; the rest is read from files.
func splitPartitions(all []hiveColumn, paths []string) (wanted []hiveColumn, rest []string) {
	if paths == nil {
		return all, nil
	}
	rest = make([]string, 0, len(paths))
	for _, p := range paths {
		if !slices.ContainsFunc(all, func(c hiveColumn) bool { return c.key == p }) {
			rest = append(rest, p)
		}
	}
	for _, c := range all {
		if slices.Contains(paths, c.key) {
			wanted = append(wanted, c)
		}
	}
	return wanted, rest
}

// dropColumns takes the columns with a partition's name out of the united schema, which remembers
// the name.
func (u *unionNode) dropColumns(partitions []hiveColumn) {
	for _, p := range partitions {
		u.partitions = append(u.partitions, p.key)
	}
	u.children = slices.DeleteFunc(u.children, func(c *unionNode) bool {
		return slices.ContainsFunc(partitions, func(p hiveColumn) bool { return p.key == c.key.name })
	})
}

func newPartitionColumn(p hiveColumn) partitionColumn {
	f := &column.Field{Name: p.key, Partition: true}
	switch p.kind {
	case partitionInt64:
		f.Kind, f.Type, f.Width = column.Fixed, column.TypeInt64, 8
	case partitionDate:
		f.Kind, f.Type, f.Width = column.Fixed, column.TypeDate, 4
	default:
		f.Kind, f.Type = column.Binary, column.TypeString
	}
	c := partitionColumn{field: f, nodes: make([]*node, len(p.values))}
	same := map[hiveValue]*node{}
	for i, v := range p.values {
		if same[v] == nil {
			same[v] = &node{field: f, path: f.Name, partition: newPartitionValue(f, v)}
		}
		c.nodes[i] = same[v]
		f.Nullable = f.Nullable || v.null
	}
	return c
}

func newPartitionValue(f *column.Field, v hiveValue) *partitionValue {
	if v.null {
		return &partitionValue{null: true}
	}
	switch f.Type {
	case column.TypeInt64:
		return &partitionValue{data: binary.LittleEndian.AppendUint64(nil, uint64(v.int))}
	case column.TypeDate:
		return &partitionValue{data: binary.LittleEndian.AppendUint32(nil, uint32(v.int))}
	}
	return &partitionValue{data: []byte(v.text)}
}
