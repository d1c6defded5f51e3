package rowgroup

import (
	"context"
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
)

// columnStats are the statistics of each rule column.
type columnStats []rule.ColumnStats

// Column implements [rule.Stats].
func (s columnStats) Column(i int) rule.ColumnStats { return s[i] }

// allNulls are the statistics of any number of rows without a value.
var allNulls = rule.ColumnStats{Rows: 1, Nulls: 1, NullsKnown: true}

// PartitionStats returns the statistics of the rule columns of a shard that need no read: partition
// values, columns that the shard lacks, and IDs of rows. Column i is Options.RuleColumns[i], here
// as in all statistics.
func (m *Manifest) PartitionStats(shard int) rule.Stats {
	rows := int64(0)
	if m.first != nil && m.first[shard] < m.first[shard+1] {
		last := &m.groups[m.first[shard+1]-1]
		rows = last.First + last.Rows - m.groups[m.first[shard]].First
	}
	return partitionStats(m.rulesOf(shard), rows)
}

// partitionStats is PartitionStats of a shard of a number of rows; 0 is unknown.
func partitionStats(rules []boundRule, rows int64) columnStats {
	s := make(columnStats, len(rules))
	for i := range rules {
		switch n := rules[i].column(); {
		case n == nil:
		case n.Missing:
			s[i] = allNulls
		case n.Partition != nil && n.Partition.Null:
			s[i] = allNulls
		case n.Partition != nil:
			s[i] = rule.ColumnStats{Rows: 1, NullsKnown: true, Distinct: constantColumn(n.Field, n.Partition).Values}
		case n.Numbers != nil && n.Leaf == nil:
			s[i] = n.Numbers.Stats(allNulls, 0, rows)
		}
	}
	return s
}

// column is the rule column's own node, or one around it that is missing; nil for a column that the
// data does not have.
func (b *boundRule) column() *schema.Node {
	n := b.node
	if n == nil {
		return nil
	}
	for range b.depth {
		if n.Missing || n.Leaf != nil {
			break
		}
		n = n.Children[0]
	}
	return n
}

// statLeaf is the leaf that holds the rule column's values, one a row, or nil.
func (b *boundRule) statLeaf() *schema.Node {
	n := b.column()
	if n == nil || n.Missing || n.Partition != nil || n.Leaf == nil || n.Leaf.MaxRep > 0 || n.Field.Kind != column.Fixed && n.Field.Kind != column.Binary {
		return nil
	}
	return n
}

// A ShardStats finds statistics of a shard's rule columns, from its footer and from the pages and
// filters that Deepen reads. It is not safe for concurrent use.
type ShardStats struct {
	m       *Reader
	shard   int
	record  footer.Record
	rules   []boundRule
	details *parquet.Details
	facts   columnStats         // of all rows
	groups  map[int]columnStats // that Deepen knows more of
}

// A RowRange is rows of a row group, Hi exclusive, with what is known of them.
type RowRange struct {
	Lo, Hi int64
	Stats  rule.Stats
}

// ShardStats reads the statistics in the footer of a shard.
func (m *Reader) ShardStats(ctx context.Context, shard int) (*ShardStats, error) {
	if shard < 0 || shard >= len(m.shards) {
		return nil, fmt.Errorf("statistics: there is no shard %d", shard)
	}
	rules := m.rulesOf(shard)
	s := &ShardStats{m: m, shard: shard, rules: rules, facts: partitionStats(rules, 0), groups: map[int]columnStats{}}
	err := s.readFooter(ctx)
	if err != nil {
		return nil, &Error{Op: "statistics", URI: m.shards[shard].URI, RowGroup: -1, Page: -1, Err: err}
	}
	return s, nil
}

func (s *ShardStats) readFooter(ctx context.Context) (err error) {
	if s.record, err = s.m.record(s.shard); err != nil {
		return err
	}
	size := s.m.shards[s.shard].Size
	n := s.record.FooterBytes + parquet.TailBytes
	if n > size {
		return fmt.Errorf("%w: %d bytes in a file of %d", parquet.ErrFooter, n, size)
	}
	o, err := s.m.objects.acquire(ctx, s.m.firstShard+s.shard)
	if err != nil {
		return err
	}
	defer s.m.objects.release(s.m.firstShard+s.shard, o)
	return shard.Rereading(ctx, o.object, func(o shard.Object) error { return s.parseFooter(ctx, o, size, n) })
}

// parseFooter reads the footer, which is the last n bytes of the shard. It must be the one that was
// read first.
func (s *ShardStats) parseFooter(ctx context.Context, o shard.Object, size, n int64) (err error) {
	b := make([]byte, n)
	if err := o.ReadAt(ctx, b, size-n); err != nil {
		return err
	}
	if got, err := parquet.FooterLength(b[len(b)-parquet.TailBytes:], size); err != nil || got != s.record.FooterBytes {
		return fmt.Errorf("%w: its length was %d when it was read first", shard.ErrChanged, s.record.FooterBytes)
	}
	if s.details, err = parquet.ParseDetails(b[:len(b)-parquet.TailBytes]); err != nil {
		return err
	}
	if n := s.details.Groups(); n != s.record.Groups || n > 0 && s.details.Leaves != s.record.Leaves {
		return fmt.Errorf("%w: its row groups are not those that were read first", shard.ErrChanged)
	}
	return nil
}

// read reads metadata of the shard.
func (s *ShardStats) read(ctx context.Context, span shard.Span) ([]byte, error) {
	o, err := s.m.objects.acquire(ctx, s.m.firstShard+s.shard)
	if err != nil {
		return nil, err
	}
	defer s.m.objects.release(s.m.firstShard+s.shard, o)
	b := make([]byte, span.N)
	return b, o.object.ReadAt(ctx, b, span.Off)
}

// Group returns the statistics of row group g of the shard.
func (s *ShardStats) Group(g int) rule.Stats {
	return s.numbered(s.group(g), g, 0, s.record.Rows.At(g))
}

// numbered returns all, the statistics of stored values in rows lo to hi - 1 of row group g, with
// the statistics of their IDs.
func (s *ShardStats) numbered(all columnStats, g int, lo, hi int64) columnStats {
	groups := s.m.groups[s.m.first[s.shard]:]
	all = slices.Clone(all)
	for i := range s.rules {
		if n := s.rules[i].column(); n != nil && n.Numbers != nil {
			if n.Leaf == nil {
				all[i] = allNulls
			}
			all[i] = n.Numbers.Stats(all[i], groups[g].First-groups[0].First+lo, hi-lo)
		}
	}
	return all
}

// group returns the statistics of stored values in a row group.
func (s *ShardStats) group(g int) columnStats {
	if deep := s.groups[g]; deep != nil {
		return deep
	}
	all := slices.Clone(s.facts)
	for i := range s.rules {
		n := s.rules[i].statLeaf()
		if n == nil {
			continue
		}
		c := &s.details.Group(g).Chunks[n.Leaf.Index]
		all[i] = s.chunkStats(n, c, s.record.Rows.At(g))
	}
	return all
}

// chunkStats returns the footer's statistics of a leaf in a row group.
func (s *ShardStats) chunkStats(n *schema.Node, c *parquet.Statistics, rows int64) rule.ColumnStats {
	if n.Leaf.Convert == schema.ConvertNull {
		return allNulls
	}
	k := rule.ColumnStats{Rows: rows}
	if c.Nulls >= 0 && c.Nulls <= rows && c.Values == rows {
		k.Nulls, k.NullsKnown = c.Nulls, true
	}
	lo, hi := c.Min, c.Max
	if !s.ordered(n) {
		lo, hi = nil, nil
	}
	if lo == nil && hi == nil && n.Signed() {
		lo, hi = c.OldMin, c.OldMax
	}
	k.Min, k.Max = s.bounds(n, lo, hi)
	return k
}

// ordered reports whether Min and Max of a leaf can be trusted.
func (s *ShardStats) ordered(n *schema.Node) bool {
	return n.Leaf.Index < len(s.details.Ordered) && s.details.Ordered[n.Leaf.Index]
}

// bounds is lo and hi as values are decoded; both nil when either cannot be trusted. Some writers
// state one alone, where the other is long.
func (s *ShardStats) bounds(n *schema.Node, lo, hi []byte) (least, most []byte) {
	if s.m.replace && n.Field.Type == column.TypeString {
		return nil, nil // what is not UTF-8 is decoded as something else
	}
	least, most = n.Bound(lo), n.Bound(hi)
	if (least == nil) != (lo == nil) || (most == nil) != (hi == nil) {
		return nil, nil
	}
	return least, most
}
