package schema

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/shard"
)

// A PartitionColumn is a key of the data set's directories as a column, with its node in each
// shard. Partition columns follow the columns of the files, in path order. A file's column of the
// same name is left out.
type PartitionColumn struct {
	Field *column.Field
	Nodes []*Node // one per shard; equal values share one
}

// InferPartitions gives the partitions of a data set's shards their types, in path order of the
// first shard: the given ones, else what the values show. All shards must have the same keys.
func InferPartitions(shards []shard.Shard, types map[string]string) ([]PartitionColumn, error) {
	if err := knownKeys(shards, types); err != nil || len(shards) == 0 {
		return nil, err
	}
	first := shards[0]
	index := make(map[string]int, len(first.Partitions))
	for i, p := range first.Partitions {
		index[p.Key] = i
	}
	values := make([][]shard.Partition, len(first.Partitions)) // of each key, by shard
	for _, s := range shards {
		if err := sameKeys(first, s, index); err != nil {
			return nil, err
		}
		for _, p := range s.Partitions {
			values[index[p.Key]] = append(values[index[p.Key]], p)
		}
	}
	columns := make([]PartitionColumn, len(values))
	for i, v := range values {
		bad, err := columns[i].fill(v, types[v[0].Key])
		if err != nil {
			return nil, &shard.Error{
				Op: "list", URI: shards[bad].URI, Err: err,
				Hint: "give {PartitionTypes} another type for it, or leave the shard out",
			}
		}
	}
	return columns, nil
}

// knownKeys refuses types of keys that no shard has.
func knownKeys(shards []shard.Shard, types map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(types)) {
		has := func(s shard.Shard) bool {
			return slices.ContainsFunc(s.Partitions, func(p shard.Partition) bool { return p.Key == key })
		}
		if !slices.ContainsFunc(shards, has) {
			return &block.Error{
				Op: "schema", Column: key, RowGroup: -1, Page: -1,
				Err: errors.New("the types of partitions name it, and no shard's path has a directory " + key + "=..."),
			}
		}
	}
	return nil
}

// fill makes the column of the values of a key, of the type of this name, or of the type that the
// values show. Nulls fit every type. The error is about the value at position bad.
func (c *PartitionColumn) fill(values []shard.Partition, name string) (bad int, err error) {
	f := &column.Field{Name: values[0].Key, Partition: true}
	c.Field, c.Nodes = f, make([]*Node, len(values))
	distinct := map[shard.Partition]*Node{}
	var texts []string
	for i, v := range values {
		if distinct[v] == nil {
			distinct[v] = &Node{Field: f, path: f.Name, Partition: &PartitionValue{Null: v.Null}}
			if !v.Null {
				texts = append(texts, v.Value)
			}
		}
		c.Nodes[i] = distinct[v]
		f.Nullable = f.Nullable || v.Null
	}
	t := inferPartitionType(texts)
	if name != "" {
		if t, err = partitionTypeOf(name); err != nil {
			return 0, err
		}
	}
	f.Kind, f.Type, f.Width = t.kind, t.typ, t.width
	for i, v := range values {
		value := c.Nodes[i].Partition
		if value.Null || value.Data != nil {
			continue
		}
		data, ok := t.parse(v.Value)
		if !ok {
			return i, fmt.Errorf("%w: partition %q has the value %q, which is not of type %s", shard.ErrBadURI, v.Key, v.Value, t.name)
		}
		value.Data = data
	}
	return 0, nil
}

// sameKeys checks that s has the keys of first, each once. Index holds first's.
func sameKeys(first, s shard.Shard, index map[string]int) error {
	sameKey := func(a, b shard.Partition) bool { return a.Key == b.Key }
	if len(index) == len(first.Partitions) && slices.EqualFunc(first.Partitions, s.Partitions, sameKey) {
		return nil // as good as always
	}
	seen := make(map[string]bool, len(s.Partitions))
	for _, p := range s.Partitions {
		if seen[p.Key] {
			return &shard.Error{Op: "list", URI: s.URI, Err: fmt.Errorf("%w: its path has the partition key %q twice", shard.ErrBadURI, p.Key)}
		}
		seen[p.Key] = true
		if _, ok := index[p.Key]; !ok {
			return lacksKey(first, s, p.Key)
		}
	}
	for _, p := range first.Partitions {
		if !seen[p.Key] {
			return lacksKey(s, first, p.Key)
		}
	}
	return nil
}

func lacksKey(without, with shard.Shard, key string) error {
	return &shard.Error{
		Op: "list", URI: without.URI,
		Err:  fmt.Errorf("%w: its path has no partition key %q, which %s has", shard.ErrBadURI, key, shard.Redact(with.URI)),
		Hint: "partitions come from directory names below the given address: name the directory above both, or set {Missing} to null",
	}
}

// SplitPartitions separates the partition columns from the projection; the rest is read from files.
func SplitPartitions(all []PartitionColumn, paths []string) (wanted []PartitionColumn, rest []string) {
	if paths == nil {
		return all, nil
	}
	rest = slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		return slices.ContainsFunc(all, func(c PartitionColumn) bool { return c.Field.Name == p })
	})
	for _, c := range all {
		if slices.Contains(paths, c.Field.Name) {
			wanted = append(wanted, c)
		}
	}
	return wanted, rest
}

// DropColumns takes the columns with a partition's name out of the united schema, which remembers
// the name.
func (u *Union) DropColumns(partitions []PartitionColumn) {
	for _, p := range partitions {
		u.partitions = append(u.partitions, p.Field.Name)
	}
	u.Children = slices.DeleteFunc(u.Children, func(c *Union) bool { return slices.Contains(u.partitions, c.Key.name) })
}

// NewRowColumn is the rows' numbers, with the same node in each shard.
func NewRowColumn(name string, shards int) PartitionColumn {
	f := &column.Field{Name: name, Kind: column.Fixed, Type: column.TypeInt64, Width: 8, Made: true}
	return PartitionColumn{Field: f, Nodes: slices.Repeat([]*Node{{Field: f, path: f.Name, Numbers: &Numbers{}}}, shards)}
}

// NewSourceColumn is a column with one value a shard, as a partition is.
func NewSourceColumn(name string, shards []shard.Shard) PartitionColumn {
	f := &column.Field{Name: name, Kind: column.Fixed, Type: column.TypeInt32, Width: 4, Made: true}
	c := PartitionColumn{Field: f, Nodes: make([]*Node, len(shards))}
	distinct := map[int32]*Node{}
	for i, s := range shards {
		if distinct[s.Source] == nil {
			value := &PartitionValue{Data: binary.LittleEndian.AppendUint32(nil, uint32(s.Source))}
			distinct[s.Source] = &Node{Field: f, path: f.Name, Partition: value}
		}
		c.Nodes[i] = distinct[s.Source]
	}
	return c
}
