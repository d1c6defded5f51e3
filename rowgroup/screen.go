package rowgroup

import (
	"context"
	"errors"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rule"
)

// A Screen binds a part's filter to the columns of one of its schemas, as far as it fits them, and
// returns what prunes by statistics of the part's RuleColumns.
type Screen func(*column.Schema) func(rule.Stats) rule.Verdict

// findUsed finds the schemas of shards that may have chosen rows; those of others give columns no
// types. Where all shards with rows are excluded the first of their schemas is used, and where no
// shard has rows all are.
func (b *binding) findUsed(ctx context.Context, m *Manifest) error {
	b.used, b.usedBy, b.excluded = make([]*fileSchema, len(b.schemas)), make([][]bool, len(b.parts)), make([]bool, len(b.schemas))
	first := 0
	for i, part := range b.parts {
		b.usedBy[i] = make([]bool, len(b.schemas))
		if len(b.schemas) > 1 {
			if err := b.findUsedBy(ctx, m, i, first); err != nil {
				return err
			}
		}
		first += len(part.Shards)
	}
	if slices.ContainsFunc(b.used, func(s *fileSchema) bool { return s != nil }) {
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

// findUsedBy finds those of a part, whose shards follow first others.
func (b *binding) findUsedBy(ctx context.Context, m *Manifest, part, first int) error {
	shards := make([][]int, len(b.schemas)) // of the part, by schema
	for i := range b.parts[part].Shards {
		k := m.files[first+i].schema
		shards[k] = append(shards[k], i)
	}
	for k, of := range shards {
		used, err := b.anyUsed(ctx, m, part, k, of)
		if err != nil {
			return err
		}
		if used {
			b.used[k], b.usedBy[part][k] = b.schemas[k], true
		}
	}
	return nil
}

// anyUsed reports whether one of the shards of a schema has rows that the part's filter may choose.
func (b *binding) anyUsed(ctx context.Context, whole *Manifest, part, schema int, shards []int) (bool, error) {
	m := b.partOf(whole, part)
	var unknown []int
	var prune func(rule.Stats) rule.Verdict
	for _, s := range shards {
		r, err := m.record(s)
		if err != nil {
			return false, footerError(m.shards[s], err)
		}
		if !r.hasRows() {
			continue
		}
		if b.parts[part].Screen == nil {
			return true, nil
		}
		if prune == nil {
			if prune, err = b.screen(m, part, schema); err != nil {
				return false, err
			}
		}
		switch prune(m.PartitionStats(s)) {
		case rule.All:
			return true, nil
		case rule.Some:
			unknown = append(unknown, s)
		case rule.None:
			b.excluded[schema] = true
		}
	}
	passes, err := m.anyPasses(ctx, unknown, b.options.Parallel, prune)
	b.excluded[schema] = b.excluded[schema] || len(unknown) > 0 && !passes
	return passes, err
}

// screen binds the rule columns of a part's manifest to one schema alone.
func (b *binding) screen(m *Manifest, part, schema int) (func(rule.Stats) rule.Verdict, error) {
	root := unite([]*fileSchema{b.schemas[schema]})
	if b.options.MissingIsNull {
		root.addUnseen(b.schemas, nil)
	}
	root.settle(b.options.Needed, "")
	root.dropColumns(b.partitions)
	p := b.parts[part]
	err := m.bindRules(ruleBinding{
		columns: p.RuleColumns, root: root, own: root, partitions: b.partitionsOf(m, p),
		projector: projector{missingIsNull: true, shards: b.owners, counts: b.counts},
	})
	if err != nil {
		return nil, err
	}
	m.bound = make([]boundSchema, len(b.schemas))
	if m.bound[schema], err = m.bindSchema(nil, b.schemas[schema]); err != nil {
		return nil, err
	}
	return p.Screen(m.ruleSchema), nil
}

// errPasses ends a search.
var errPasses = errors.New("a shard has rows that pass")

// anyPasses reports whether prune keeps a row group of one of the shards, by their footers. It
// reads up to parallel of them at once.
func (m *Manifest) anyPasses(ctx context.Context, shards []int, parallel int, prune func(rule.Stats) rule.Verdict) (bool, error) {
	err := each(ctx, len(shards), parallel, func(ctx context.Context, i int) error {
		stats, err := m.ShardStats(ctx, shards[i])
		if err != nil {
			return err
		}
		for g := range stats.record.groups {
			if stats.record.rows.at(g) > 0 && prune(stats.Group(g)) != rule.None {
				return errPasses
			}
		}
		return nil
	})
	if errors.Is(err, errPasses) {
		return true, nil
	}
	return false, err
}

// Excluded reports whether the [Screen] of its part found that no row of a shard is chosen. Its
// columns may not fit the schema, and are not read.
func (m *Manifest) Excluded(shard int) bool { return m.bound[m.files[shard].schema].excluded }
