package rowgroup

import (
	"bytes"
	"strconv"
)

// Items is how many items the lists of a rule column have in row group g of the shard, where the
// footer shows: when no list is empty or null, and no item. The column is one of
// [RuleColumn.Lengths], a list of leaves.
//
// That no list is empty shows in the count of nulls, which some writers got wrong: those of
// parquet-cpp-arrow before version 7 left out empty and null lists (apache/arrow#42980). So only
// writers are believed that are known to count them.
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

// countsEmptyLists reports whether a writer counts empty and null lists among the nulls of their items.
func countsEmptyLists(createdBy []byte) bool {
	if rest, ok := bytes.CutPrefix(createdBy, []byte("parquet-cpp-arrow version ")); ok {
		major, _, _ := bytes.Cut(rest, []byte("."))
		n, err := strconv.Atoi(string(major))
		return err == nil && n >= leastArrow
	}
	return bytes.HasPrefix(createdBy, []byte("DuckDB")) || bytes.HasPrefix(createdBy, []byte("Polars"))
}
