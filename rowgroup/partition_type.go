package rowgroup

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// partitionType is the type of a partition column.
type partitionType int

// The types that directory names can have.
const (
	partitionString partitionType = iota
	partitionInt64
	partitionDate // days since 1970-01-01
)

func (t partitionType) String() string {
	switch t {
	case partitionInt64:
		return "int64"
	case partitionDate:
		return "date"
	}
	return "string"
}

// A hiveColumn is one key of a data set's directories with its value for each shard.
type hiveColumn struct {
	key    string
	kind   partitionType
	values []hiveValue // one per shard, in their order
}

// A hiveValue is a typed value of a directory's name.
type hiveValue struct {
	null bool
	text string // as in the name, decoded; whatever the type
	int  int64  // of a partitionInt64: the number; of a partitionDate: days since 1970-01-01
}

// inferPartitions gives the partitions of a data set's shards their types, in path order of the
// first shard.
//
// A key is int64 when each of its values is a number that prints as it is spelled, so that 7 and -7
// are numbers but 007 and +7 are not: a name with leading zeros is a code or a month, and stays
// what the user sees. Else it is a date when each value is a date as YYYY-MM-DD of the calendar,
// else a string. Nulls fit every type; a key of nulls alone is a string.
//
// All shards must have the same keys.
func inferPartitions(shards []shard.Shard) ([]hiveColumn, error) {
	if len(shards) == 0 {
		return nil, nil
	}
	first := shards[0]
	columns := make([]hiveColumn, len(first.Partitions))
	index := make(map[string]int, len(columns))
	for i, p := range first.Partitions {
		index[p.Key] = i
		columns[i] = hiveColumn{key: p.Key, values: make([]hiveValue, len(shards))}
	}
	for row, s := range shards {
		if err := sameKeys(first, s, index); err != nil {
			return nil, err
		}
		for _, p := range s.Partitions {
			columns[index[p.Key]].values[row] = hiveValue{null: p.Null, text: p.Value}
		}
	}
	for i := range columns {
		columns[i].infer()
	}
	return columns, nil
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

// infer finds the type that all values have, and fills them in.
func (c *hiveColumn) infer() {
	for _, t := range []partitionType{partitionInt64, partitionDate} {
		if c.all(t) {
			c.kind = t
			return
		}
	}
	c.kind = partitionString
	for i := range c.values {
		c.values[i].int = 0
	}
}

// all sets each value's int and reports whether every value is of type t, and one is not null.
func (c *hiveColumn) all(t partitionType) bool {
	some := false
	for i := range c.values {
		v := &c.values[i]
		if v.null {
			continue
		}
		n, ok := t.parse(v.text)
		if !ok {
			return false
		}
		v.int = n
		some = true
	}
	return some
}

// parse reads a number, or a date as days since 1970-01-01, when it prints as it is spelled.
func (t partitionType) parse(text string) (int64, bool) {
	if t == partitionDate {
		day, err := time.Parse(time.DateOnly, text)
		return day.Unix() / 86400, err == nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}
