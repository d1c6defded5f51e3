package rowgroup

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/shard"
)

// A partitionColumn is a key of the data set's directories as a column, with its node in each
// shard. Partition columns follow the columns of the files, in path order. A file's column of the
// same name is left out.
type partitionColumn struct {
	field *column.Field
	nodes []*node // one per shard; equal values share one
}

// partitionTypes are the types that a key can have; the first is taken that all its values have.
// parse returns a value as bytes of the field.
//
// A number must print as it is spelled, so that 7 and -7 are numbers but 007 and +7 are not: a name
// with leading zeros is a code or a month, and stays what the user sees.
var partitionTypes = []struct {
	kind  column.Kind
	typ   column.Type
	width int
	parse func(text string) (value []byte, ok bool)
}{
	{column.Fixed, column.TypeInt64, 8, func(text string) ([]byte, bool) {
		n, err := strconv.ParseInt(text, 10, 64)
		return binary.LittleEndian.AppendUint64(nil, uint64(n)), err == nil && strconv.FormatInt(n, 10) == text
	}},
	{column.Fixed, column.TypeDate, 4, func(text string) ([]byte, bool) {
		day, err := time.Parse(time.DateOnly, text)
		return binary.LittleEndian.AppendUint32(nil, uint32(day.Unix()/86400)), err == nil
	}},
	{column.Binary, column.TypeString, 0, func(text string) ([]byte, bool) { return []byte(text), true }},
}

// inferPartitions gives the partitions of a data set's shards their types, in path order of the
// first shard. All shards must have the same keys.
func inferPartitions(shards []shard.Shard) ([]partitionColumn, error) {
	if len(shards) == 0 {
		return nil, nil
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
	columns := make([]partitionColumn, len(values))
	for i, v := range values {
		columns[i] = newPartitionColumn(v)
	}
	return columns, nil
}

// newPartitionColumn types the values of a key. Nulls fit every type; a key of nulls alone is a
// string.
func newPartitionColumn(values []shard.Partition) partitionColumn {
	f := &column.Field{Name: values[0].Key, Partition: true}
	c := partitionColumn{field: f, nodes: make([]*node, len(values))}
	distinct := map[shard.Partition]*node{}
	for i, v := range values {
		if distinct[v] == nil {
			distinct[v] = &node{field: f, path: f.Name, partition: &partitionValue{null: v.Null}}
		}
		c.nodes[i] = distinct[v]
		f.Nullable = f.Nullable || v.Null
	}
	for _, t := range partitionTypes {
		fits, some := true, t.typ == column.TypeString
		for v, n := range distinct {
			if !v.Null && fits {
				n.partition.data, fits = t.parse(v.Value)
				some = true
			}
		}
		if fits && some {
			f.Kind, f.Type, f.Width = t.kind, t.typ, t.width
			break
		}
	}
	return c
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
		Hint: "partitions come from directory names below the given address: name the directory above both",
	}
}

// splitPartitions separates the partition columns from the projection; the rest is read from files.
func splitPartitions(all []partitionColumn, paths []string) (wanted []partitionColumn, rest []string) {
	if paths == nil {
		return all, nil
	}
	rest = slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		return slices.ContainsFunc(all, func(c partitionColumn) bool { return c.field.Name == p })
	})
	for _, c := range all {
		if slices.Contains(paths, c.field.Name) {
			wanted = append(wanted, c)
		}
	}
	return wanted, rest
}

// dropColumns takes the columns with a partition's name out of the united schema, which remembers
// the name.
func (u *unionNode) dropColumns(partitions []partitionColumn) {
	for _, p := range partitions {
		u.partitions = append(u.partitions, p.field.Name)
	}
	u.children = slices.DeleteFunc(u.children, func(c *unionNode) bool { return slices.Contains(u.partitions, c.key.name) })
}
