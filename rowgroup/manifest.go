package rowgroup

import (
	"iter"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

// A Manifest describes the row groups of a data set under one projected schema: their rows, bytes
// and statistics. It reads nothing, does not change, and is safe for concurrent use.
type Manifest struct {
	shards []shard.Shard
	schema *column.Schema

	ruleSchema *column.Schema
	rows       int64
	groups     []Group
	first      []int // position of each shard's first group in groups, and their number at the end
	firstShard int   // the part's first shard in the numbering of the whole data set
	firstRow   int64 // number of the first row
	files      []file
	bound      []boundSchema
	parts      []schema.PartitionColumn
	rules      []ruleColumn
	replace    bool // what is not UTF-8; see Options.ReplaceUTF8
	records    *footer.Records
	made       *Made // nil: no lists are made
}

// A file is the part of a shard's footer that a manifest keeps.
type file struct {
	record []byte
	schema int // position in Manifest.bound
}

// A boundSchema is the projected columns in the files of one schema.
type boundSchema struct {
	raw      schema.Bytes
	excluded bool // see Manifest.Excluded
	columns  []*schema.Node
	leaves   []*schema.Node // see LeavesOf

	rules   []boundRule
	fetched []*schema.Node // leaves, and behind them the others that rules read
	ruled   []*schema.Node // a node for each leaf that rules read
}

// columnsOf is the projected columns as they are in shard s.
func (m *Manifest) columnsOf(s int) []*schema.Node {
	columns := schema.AtShard(m.bound[m.files[s].schema].columns, s)
	if len(m.parts) == 0 {
		return columns
	}
	all := make([]*schema.Node, 0, len(columns)+len(m.parts))
	all = append(all, columns...)
	for _, p := range m.parts {
		all = append(all, p.Nodes[s])
	}
	return all
}

// dropped are the columns that nothing but lists needs.
func (m *Manifest) dropped() []int {
	if m.made == nil {
		return nil
	}
	return m.made.Drop
}

// staying is the columns of group g that blocks keep when their lists are made.
func (m *Manifest) staying(g int) (all []*schema.Node) {
	for i, n := range m.columnsOf(int(m.groups[g].Shard)) {
		if !m.made.drops(i) {
			all = append(all, n)
		}
	}
	return all
}

// Schema is the projected schema.
func (m *Manifest) Schema() *column.Schema { return m.schema }

// Shards are the shards that the manifest was opened with.
func (m *Manifest) Shards() []shard.Shard { return m.shards }

// NumRows is the rows of all shards.
func (m *Manifest) NumRows() int64 { return m.rows }

// Groups are all row groups, shards in order, row groups in file order; those without rows too. The
// caller does not change them.
func (m *Manifest) Groups() []Group { return m.groups }

// Known yields the footers of all shards as blocks of bytes, each with the number of its shards,
// which are consecutive; see [ParseKnown].
func (m *Manifest) Known() iter.Seq2[int, []byte] {
	return footer.FormatKnown(len(m.files), func(i int) ([]byte, schema.Bytes) {
		f := m.files[i]
		return f.record, m.bound[f.schema].raw
	})
}

// record returns the record of a shard as it was read last.
func (m *Manifest) record(s int) (footer.Record, error) {
	return m.records.Of(m.firstShard+s, m.files[s].record)
}
