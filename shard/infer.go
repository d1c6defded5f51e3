package shard

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// PartitionType is the type of a partition column.
type PartitionType int

// The types that directory names can have.
const (
	PartitionString PartitionType = iota
	PartitionInt64
	PartitionDate // days since 1970-01-01
)

func (t PartitionType) String() string {
	switch t {
	case PartitionInt64:
		return "int64"
	case PartitionDate:
		return "date"
	}
	return "string"
}

// A PartitionColumn is one key of a data set's directories with its value for each shard.
type PartitionColumn struct {
	Key    string
	Type   PartitionType
	Values []PartitionValue // one per shard, in their order
}

// A PartitionValue is a typed value of a directory's name.
type PartitionValue struct {
	Null bool
	Text string // as in the name, decoded; whatever the type
	Int  int64  // of a PartitionInt64: the number; of a PartitionDate: days since 1970-01-01
}

// InferPartitions gives the partitions of a data set's shards their types, in path order of the
// first shard.
//
// A key is int64 when each of its values is a number that prints as it is spelled, so that 7 and -7
// are numbers but 007 and +7 are not: a name with leading zeros is a code or a month, and stays
// what the user sees. Else it is a date when each value is a date as YYYY-MM-DD of the calendar,
// else a string. Nulls fit every type; a key of nulls alone is a string.
//
// All shards must have the same keys.
func InferPartitions(shards []Shard) ([]PartitionColumn, error) {
	if len(shards) == 0 {
		return nil, nil
	}
	first := shards[0]
	columns := make([]PartitionColumn, len(first.Partitions))
	index := make(map[string]int, len(columns))
	for i, p := range first.Partitions {
		index[p.Key] = i
		columns[i] = PartitionColumn{Key: p.Key, Values: make([]PartitionValue, len(shards))}
	}
	for row, s := range shards {
		if err := sameKeys(first, s, index); err != nil {
			return nil, err
		}
		for _, p := range s.Partitions {
			columns[index[p.Key]].Values[row] = PartitionValue{Null: p.Null, Text: p.Value}
		}
	}
	for i := range columns {
		columns[i].infer()
	}
	return columns, nil
}

// sameKeys checks that s has the keys of first, each once. Index holds first's.
func sameKeys(first, s Shard, index map[string]int) error {
	sameKey := func(a, b Partition) bool { return a.Key == b.Key }
	if len(index) == len(first.Partitions) && slices.EqualFunc(first.Partitions, s.Partitions, sameKey) {
		return nil // as good as always
	}
	seen := make(map[string]bool, len(s.Partitions))
	for _, p := range s.Partitions {
		if seen[p.Key] {
			return &Error{Op: "list", URI: s.URI, Err: fmt.Errorf("%w: its path has the partition key %q twice", ErrBadURI, p.Key)}
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

func lacksKey(without, with Shard, key string) error {
	return &Error{
		Op: "list", URI: without.URI,
		Err:  fmt.Errorf("%w: its path has no partition key %q, which %s has", ErrBadURI, key, Redact(with.URI)),
		Hint: "partitions come from directory names below the given address: name the directory above both",
	}
}

// infer finds the type that all values have, and fills them in.
func (c *PartitionColumn) infer() {
	for _, t := range []PartitionType{PartitionInt64, PartitionDate} {
		if c.all(t) {
			c.Type = t
			return
		}
	}
	c.Type = PartitionString
	for i := range c.Values {
		c.Values[i].Int = 0
	}
}

// all sets each value's Int and reports whether every value is of type t, and one is not null.
func (c *PartitionColumn) all(t PartitionType) bool {
	some := false
	for i := range c.Values {
		v := &c.Values[i]
		if v.Null {
			continue
		}
		n, ok := t.parse(v.Text)
		if !ok {
			return false
		}
		v.Int = n
		some = true
	}
	return some
}

// parse reads a number, or a date as days since 1970-01-01, when it prints as it is spelled.
func (t PartitionType) parse(text string) (int64, bool) {
	if t == PartitionDate {
		day, err := time.Parse(time.DateOnly, text)
		return day.Unix() / 86400, err == nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}
