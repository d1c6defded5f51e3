package rowgroup

import (
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/rule"
)

// A Screen binds a part's filter to the columns of one of its schemas, as far as it fits them, and
// returns what prunes by the partitions among the part's RuleColumns.
type Screen func(*column.Schema) func(rule.Stats) rule.Verdict

// findUsed finds the schemas of shards that may have chosen rows; other schemas contribute no types
// to columns. If all shards with rows are excluded, the first of their schemas is used, and if no
// shard has rows, all are. Schemas with the same columns are screened as one, and a single one is
// not screened.
func (b *binding) findUsed(m *Manifest) error {
	b.used, b.usedBy, b.excluded = make([]*schema.File, len(b.schemas)), make([][]bool, len(b.parts)), make([]bool, len(b.schemas))
	alike, kindOf := schema.AlikeSchemas(b.schemas)
	first := 0
	for i, part := range b.parts {
		b.usedBy[i] = make([]bool, len(b.schemas))
		if len(alike) > 1 {
			shards := make([][]int, len(alike))
			for s, file := range m.files[first : first+len(part.Shards)] {
				kind := kindOf[file.schema]
				shards[kind] = append(shards[kind], s)
			}
			for kind, schemas := range alike {
				if err := b.findUsedBy(m, i, schemas, shards[kind]); err != nil {
					return err
				}
			}
		}
		first += len(part.Shards)
	}
	if slices.ContainsFunc(b.used, func(s *schema.File) bool { return s != nil }) {
		return nil
	}
	excluded := slices.Index(b.excluded, true)
	for k := range b.schemas {
		if excluded >= 0 && k != excluded {
			continue
		}
		b.used[k] = b.schemas[k]
		for _, used := range b.usedBy {
			used[k] = true
		}
	}
	return nil
}

// findUsedBy finds whether a part uses schemas that are alike. shards of the part have them.
func (b *binding) findUsedBy(m *Manifest, part int, schemas, shards []int) error {
	used, err := b.anyUsed(m, part, schemas, shards)
	if used {
		for _, k := range schemas {
			b.used[k], b.usedBy[part][k] = b.schemas[k], true
		}
	}
	return err
}

// anyUsed reports whether one of the shards of schemas that are alike has rows that the part's
// filter may choose.
func (b *binding) anyUsed(whole *Manifest, part int, schemas, shards []int) (bool, error) {
	m := b.partOf(whole, part)
	var prune func(rule.Stats) rule.Verdict
	for _, s := range shards {
		r, err := m.record(s)
		if err != nil {
			return false, footer.ShardError(m.shards[s], err)
		}
		if !r.HasRows() {
			continue
		}
		if b.parts[part].Screen == nil {
			return true, nil
		}
		if prune == nil {
			if prune, err = b.screen(m, part, schemas); err != nil {
				return false, err
			}
		}
		if prune(m.PartitionStats(s)) != rule.None {
			return true, nil
		}
		for _, k := range schemas {
			b.excluded[k] = true
		}
	}
	return false, nil
}

// screen binds the rule columns of a part's manifest to schemas that are alike.
func (b *binding) screen(m *Manifest, part int, schemas []int) (func(rule.Stats) rule.Verdict, error) {
	root := schema.Unite([]*schema.File{b.schemas[schemas[0]]})
	if b.options.MissingIsNull {
		root.AddUnseen(b.schemas, nil)
	}
	root.Settle(b.options.Needed, "")
	root.DropColumns(b.partitions)
	p := b.parts[part]
	rules := ruleBinding{
		columns: p.RuleColumns, root: root, own: root, partitions: b.partitionsOf(m, p),
		projector: schema.Projector{MissingIsNull: true, Shards: b.owners, Counts: b.counts},
	}
	err := rules.bind(m)
	if err != nil {
		return nil, err
	}
	m.bound = make([]boundSchema, len(b.schemas))
	for _, k := range schemas {
		if m.bound[k], err = bindSchema(nil, m.rules, b.schemas[k]); err != nil {
			return nil, err
		}
	}
	return p.Screen(m.ruleSchema), nil
}

// Excluded reports whether the [Screen] of its part found that no row of a shard is chosen. Its
// columns may not fit the schema, and are not read.
func (m *Manifest) Excluded(shard int) bool { return m.bound[m.files[shard].schema].excluded }
