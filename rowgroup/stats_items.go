package rowgroup

import (
	"bytes"
	"strconv"
)

// Items returns the number of items in the lists of a rule column in row group g of the shard, if
// the footer determines it: when no list is empty or null, and no item is null. The column is a
// list of leaves with [RuleColumn.Lengths].
//
// The count of nulls shows that no list is empty, but some writers get it wrong: parquet-cpp-arrow
// before version 7 left out empty and null lists (apache/arrow#42980). Items trusts only writers
// that are known to count them.
func (s *ShardStats) Items(g, col int) (items int64, ok bool) {
	b := &s.rules[col]
	if b.leaf == nil || b.depth > 0 || len(b.node.Children) != 1 || b.node.Children[0] != b.leaf || !countsEmptyLists(s.record.CreatedBy) {
		return 0, false
	}
	leaf := b.leaf.Leaf.Index
	if c := &s.details.Group(g).Chunks[leaf]; c.Nulls != 0 {
		return 0, false
	}
	items = s.record.Values.At(s.record.Chunk(leaf, g))
	return items, items >= s.record.Rows.At(g)
}

// leastArrow is the first version of parquet-cpp-arrow that counts empty lists.
const leastArrow = 7

// countsEmptyLists reports whether a writer counts empty and null lists among the nulls of their
// items.
func countsEmptyLists(createdBy []byte) bool {
	if rest, ok := bytes.CutPrefix(createdBy, []byte("parquet-cpp-arrow version ")); ok {
		major, _, _ := bytes.Cut(rest, []byte("."))
		n, err := strconv.Atoi(string(major))
		return err == nil && n >= leastArrow
	}
	return bytes.HasPrefix(createdBy, []byte("DuckDB")) || bytes.HasPrefix(createdBy, []byte("Polars"))
}
