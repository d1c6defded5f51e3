package rowgroup

import (
	"context"
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

// A binding finds the columns of one schema in the files of several parts.
type binding struct {
	store   shard.Store
	parts   []Part
	footers []footer.Loaded
	options Options

	schemas    []*schema.File
	used       []*schema.File // the same, nil where no shard may have chosen rows
	usedBy     [][]bool       // by part and schema: whether the part's shards use the schema
	excluded   []bool         // by schema: a shard without chosen rows has rows
	owners     []string       // by schema: the first shard that has it
	counts     []int          // by schema: shards that have it
	root       *schema.Union
	columns    []*schema.Projected
	partitions []schema.PartitionColumn // with a node for each shard of all parts
}

// unite unites the schemas of all shards, and projects them.
func (b *binding) unite(ctx context.Context, m *Manifest) error {
	if err := b.rename(); err != nil {
		return err
	}
	b.findSchemas(m)
	shards, lacking := b.partitioned()
	var err error
	if b.partitions, err = schema.InferPartitions(shards, b.options.PartitionTypes); err != nil {
		return err
	}
	if err := b.checkPartitions(m); err != nil {
		return err
	}
	if err := b.findUsed(m); err != nil {
		return err
	}
	b.root = schema.Unite(b.used)
	if b.options.MissingIsNull {
		b.root.AddUnseen(b.schemas, b.excluded)
	}
	b.root.Settle(b.options.Needed, "")
	b.root.DropColumns(b.partitions)
	wanted, paths := schema.SplitPartitions(b.partitions, b.options.Columns)
	if b.columns, err = schema.Project(b.root, paths, b.options.MissingIsNull, b.owners, b.counts); err != nil {
		return err
	}
	if b.options.Declared {
		if err := b.declare(ctx); err != nil {
			return err
		}
	}
	for _, c := range b.columns {
		m.schema.Fields = append(m.schema.Fields, c.Field)
	}
	m.parts = wanted
	for _, c := range wanted {
		if at, ok := lacking[c.Field.Name]; ok && !b.options.MissingIsNull {
			return &Error{
				Op: "schema", URI: b.parts[at].Shards[0].URI, RowGroup: -1, Column: c.Field.Name, Page: -1,
				Err:  fmt.Errorf("%w here; it is a partition of other shards", ErrMissingColumn),
				Hint: "leave the column out, or read it as null where it is missing with {Missing=null}",
			}
		}
		m.schema.Fields = append(m.schema.Fields, c.Field)
	}
	if b.options.RowIDs || b.options.RowKeys {
		return b.addRowIDs(m)
	}
	return nil
}

// findSchemas lists the schemas in the order of the first shards that have them.
func (b *binding) findSchemas(m *Manifest) {
	position := map[*schema.File]int{}
	m.files = make([]file, len(b.footers))
	for i, l := range b.footers {
		k, ok := position[l.Schema]
		if !ok {
			k = len(b.schemas)
			position[l.Schema] = k
			b.schemas, b.owners, b.counts = append(b.schemas, l.Schema), append(b.owners, m.shards[i].URI), append(b.counts, 0)
		}
		b.counts[k]++
		m.files[i] = file{record: l.Record, schema: k}
	}
	for _, part := range b.parts {
		if part.Table != nil && len(part.Shards) == 0 {
			b.schemas, b.owners, b.counts = append(b.schemas, schema.Empty(part.Table)), append(b.owners, part.Table.Address), append(b.counts, 0)
		}
	}
}

// bindSchema finds the projected columns and rule columns in the files of one schema.
func bindSchema(columns []*schema.Projected, rules []ruleColumn, s *schema.File) (b boundSchema, err error) {
	b.raw = s.Bytes
	if b.columns, err = schema.Bind(columns, s.Columns); err != nil {
		return b, err
	}
	b.leaves = schema.LeavesOf(b.columns)
	b.fetched = slices.Clone(b.leaves)
	return b, b.bindRules(rules, s.Columns)
}

// manifest returns the manifest of a part. row is the number of the part's first row in the whole
// data set.
func (b *binding) manifest(whole *Manifest, part int, row int64) (*Manifest, error) {
	m, p := b.partOf(whole, part), b.parts[part]
	m.firstRow = row
	if len(p.RuleColumns) > 0 {
		if err := b.rulesOf(m, part).bind(m); err != nil {
			return nil, err
		}
	}
	for i, s := range b.schemas {
		used := b.usedBy[part][i]
		if !used { // nothing is read of it
			s = &schema.File{Bytes: s.Bytes, Leaves: s.Leaves}
		}
		bound, err := bindSchema(b.columns, m.rules, s)
		if err != nil {
			return nil, &Error{Op: "schema", URI: b.owners[i], RowGroup: -1, Page: -1, Err: err}
		}
		bound.excluded = !used
		m.bound = append(m.bound, bound)
	}
	return m, addGroups(m, b.footers[m.firstShard:m.firstShard+len(m.shards)])
}

// partOf is a manifest of the shards of a part, without columns of the files.
func (b *binding) partOf(whole *Manifest, part int) *Manifest {
	m := *whole
	for _, before := range b.parts[:part] {
		m.firstShard += len(before.Shards)
	}
	end := m.firstShard + len(b.parts[part].Shards)
	m.shards, m.files = whole.shards[m.firstShard:end], whole.files[m.firstShard:end]
	m.parts = sliced(whole.parts, m.firstShard, end)
	return &m
}
