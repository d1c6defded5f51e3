package rowgroup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

// A Part is shards that have rules and names of their own.
type Part struct {
	Shards      []shard.Shard
	RuleColumns []RuleColumn

	// Screen, if set, finds the shards without a chosen row. Their schemas do not contribute to the
	// schema of the data set.
	Screen Screen

	// Rename maps names of columns or partitions in the files to names in the schema. Rules use the
	// latter.
	Rename map[string]string

	// Table, if set, finds the columns of a table in the shards. Rename and rules use its names.
	Table *schema.Table

	// Footers are the known footers of the shards, in their order. They are used if all parts have
	// them; otherwise footers are read.
	Footers []footer.Known
}

// OpenParts is [Open] for several lists of shards, each of which gets a manifest. All have one
// schema: the columns of all shards, united by name. The numbers of rows go on from part to part.
// Shards are kept open for all of them: closing one manifest closes all.
func OpenParts(ctx context.Context, store shard.Store, parts []Part, o Options) ([]*Reader, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	var shards []shard.Shard
	var known []footer.Known
	if len(parts) == 1 { // maybe millions
		shards, known = parts[0].Shards, parts[0].Footers
	} else {
		for _, p := range parts {
			shards, known = append(shards, p.Shards...), append(known, p.Footers...)
		}
	}
	o = o.withDefaults(store, shards)
	of := o.footers()
	of.Deletes = readsDeletes(parts)
	footers, err := footer.Load(ctx, store, shards, known, of)
	if err != nil {
		return nil, err
	}
	if known := o.Events.FootersKnown; known != nil {
		known()
	}
	var all []*Manifest
	err = footer.NewSuspects(store, shards, footers, of).Opening(ctx, func() (err error) {
		all, err = bindParts(ctx, store, parts, shards, footers, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return newReaders(store, shards, all, o), nil
}

// bindParts makes the manifests of parts from the footers of all their shards.
func bindParts(ctx context.Context, store shard.Store, parts []Part, shards []shard.Shard, footers []footer.Loaded, o Options) (all []*Manifest, err error) {
	b := &binding{store: store, parts: parts, footers: footers, options: o}
	m := &Manifest{shards: shards, schema: &column.Schema{}, replace: o.ReplaceUTF8, records: &footer.Records{}}
	if err := b.unite(ctx, m); err != nil {
		return nil, err
	}
	all = make([]*Manifest, len(parts))
	rows := int64(0)
	for i := range parts {
		if all[i], err = b.manifest(m, i, rows); err != nil {
			return nil, err
		}
		rows += all[i].rows
	}
	return all, nil
}

// readsDeletes reports whether all parts may be files that list deleted rows.
func readsDeletes(parts []Part) bool {
	return !slices.ContainsFunc(parts, func(p Part) bool { return p.Table == nil || !p.Table.AsStored })
}

// resolve gives the shards of tables the columns of these.
func (b *binding) resolve() error {
	first := 0
	for _, part := range b.parts {
		if part.Table != nil {
			files := make([]**schema.File, len(part.Shards))
			for i := range files {
				files[i] = &b.footers[first+i].Schema
			}
			if bad, err := schema.Resolve(part.Table, files); err != nil {
				return atShard(part.Shards[bad], err)
			}
		}
		first += len(part.Shards)
	}
	return nil
}

// atShard names the shard of an error.
func atShard(s shard.Shard, err error) error {
	if e := (*Error)(nil); errors.As(err, &e) {
		e.URI = s.URI
	}
	return err
}

// partitioned is the shards with the partitions of all, null where a part, or with MissingIsNull a
// shard, lacks them. lacking has a part that lacks each of them.
func (b *binding) partitioned() (shards []shard.Shard, lacking map[string]int) {
	keys := b.keys()
	lacking = map[string]int{}
	if b.even(keys) {
		return b.parts[0].Shards, lacking
	}
	shards = make([]shard.Shard, 0, len(b.footers))
	for i, part := range b.parts {
		of := part.Shards[:min(1, len(part.Shards))] // that have the keys of all
		if b.options.MissingIsNull {
			of = part.Shards
		}
		var more []shard.Partition
		for k, s := range part.Shards {
			s.Partitions = renamed(s.Partitions, part.Rename)
			if k < len(of) {
				more = without(keys, s.Partitions)
			}
			for _, p := range more {
				lacking[p.Key] = i
			}
			if len(more) > 0 {
				s.Partitions = slices.Concat(s.Partitions, more)
			}
			shards = append(shards, s)
		}
	}
	return shards, lacking
}

// keys are the partitions of all shards, in the order in which they first come.
func (b *binding) keys() []string {
	var keys []string
	for _, part := range b.parts {
		of := part.Shards
		if !b.options.MissingIsNull {
			of = of[:min(1, len(of))]
		}
		for _, s := range of {
			for _, p := range renamed(s.Partitions, part.Rename) {
				if !slices.Contains(keys, p.Key) {
					keys = append(keys, p.Key)
				}
			}
		}
	}
	return keys
}

// even reports whether the shards of one part have all keys under their own names, as most have.
func (b *binding) even(keys []string) bool {
	if len(b.parts) > 1 || len(b.parts[0].Rename) > 0 {
		return false
	}
	lacks := func(s shard.Shard) bool { return len(s.Partitions) < len(keys) }
	return !b.options.MissingIsNull || !slices.ContainsFunc(b.parts[0].Shards, lacks)
}

// without are nulls of the keys that are not among some partitions.
func without(keys []string, partitions []shard.Partition) (nulls []shard.Partition) {
	for _, key := range keys {
		if !slices.ContainsFunc(partitions, func(p shard.Partition) bool { return p.Key == key }) {
			nulls = append(nulls, shard.Partition{Key: key, Null: true})
		}
	}
	return nulls
}

func renamed(partitions []shard.Partition, names map[string]string) []shard.Partition {
	if len(names) == 0 {
		return partitions
	}
	all := slices.Clone(partitions)
	for i := range all {
		if name, ok := names[all[i].Key]; ok {
			all[i].Key = name
		}
	}
	return all
}

// checkPartitions refuses a name that is a partition of some shards and a column of the files in
// others.
func (b *binding) checkPartitions(m *Manifest) error {
	i := 0
	for _, part := range b.parts {
		for _, s := range part.Shards {
			for _, c := range b.partitions {
				if c.Nodes[i].Partition.Null && !hasKey(part, s, c.Field.Name) && b.schemas[m.files[i].schema].Has(c.Field.Name) {
					return &Error{
						Op: "schema", URI: s.URI, RowGroup: -1, Column: c.Field.Name, Page: -1,
						Err: errors.New("it is a column of the files here and a partition of other shards"), Hint: "rename one of the two",
					}
				}
			}
			i++
		}
	}
	return nil
}

// hasKey reports whether a shard of a part has a partition of this name.
func hasKey(p Part, s shard.Shard, key string) bool {
	return slices.ContainsFunc(renamed(s.Partitions, p.Rename), func(q shard.Partition) bool { return q.Key == key })
}

// rename gives the files of each part the names of the schema.
func (b *binding) rename() error {
	if err := b.resolve(); err != nil {
		return err
	}
	first := 0
	for _, part := range b.parts {
		all := map[*schema.File]*schema.File{}
		seen := map[string]bool{}
		for i := range part.Shards {
			l := &b.footers[first+i]
			if len(part.Rename) == 0 {
				continue
			}
			if all[l.Schema] == nil {
				s, err := l.Schema.Rename(part.Rename, seen)
				if err != nil {
					return &Error{Op: "schema", URI: part.Shards[i].URI, RowGroup: -1, Page: -1, Err: err}
				}
				all[l.Schema] = s
			}
			l.Schema = all[l.Schema]
			for _, p := range part.Shards[i].Partitions {
				seen[p.Key] = true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(part.Rename)) {
			if !seen[name] && len(part.Shards) > 0 {
				return &Error{
					Op: "schema", URI: part.Shards[0].URI, RowGroup: -1, Column: name, Page: -1,
					Err: fmt.Errorf("%w here, to be renamed to %q", ErrMissingColumn, part.Rename[name]), Hint: "leave it out of rename",
				}
			}
		}
		first += len(part.Shards)
	}
	return nil
}

// partitionsOf are the partition columns that rules of a part may read, with the nodes of its
// shards.
func (b *binding) partitionsOf(m *Manifest, p Part) []schema.PartitionColumn {
	all := sliced(b.partitions, m.firstShard, m.firstShard+len(m.shards))
	if len(b.parts) == 1 {
		return all
	}
	return slices.DeleteFunc(all, func(c schema.PartitionColumn) bool {
		return !slices.ContainsFunc(p.Shards, func(s shard.Shard) bool { return hasKey(p, s, c.Field.Name) })
	})
}

// sliced are partition columns with the nodes of some shards.
func sliced(all []schema.PartitionColumn, from, to int) []schema.PartitionColumn {
	all = slices.Clone(all)
	for i := range all {
		all[i].Nodes = all[i].Nodes[from:to]
	}
	return all
}

// A ruleBinding finds the rule columns of a part.
type ruleBinding struct {
	columns    []RuleColumn
	root       *schema.Union            // of all parts: what columns become
	own        *schema.Union            // of the part: what it has
	partitions []schema.PartitionColumn // of the part
	projector  schema.Projector
}

func (b *binding) rulesOf(m *Manifest, part int) ruleBinding {
	p := b.parts[part]
	r := ruleBinding{
		columns: p.RuleColumns, root: b.root, own: b.root, partitions: b.partitionsOf(m, p),
		projector: schema.Projector{MissingIsNull: b.options.MissingIsNull, Shards: b.owners, Counts: b.counts},
	}
	if len(b.parts) == 1 {
		return r
	}
	var used []int
	for _, f := range m.files {
		if !slices.Contains(used, f.schema) {
			used = append(used, f.schema)
		}
	}
	unused := func(s int) bool { return !b.usedBy[part][s] }
	if slices.ContainsFunc(used, func(s int) bool { return !unused(s) }) {
		used = slices.DeleteFunc(used, unused)
	}
	var schemas []*schema.File
	r.projector.Shards, r.projector.Counts = nil, nil
	for _, s := range used {
		schemas = append(schemas, b.schemas[s])
		r.projector.Shards, r.projector.Counts = append(r.projector.Shards, b.owners[s]), append(r.projector.Counts, b.counts[s])
	}
	r.own = schema.Unite(schemas)
	r.own.Settle(b.options.Needed, "")
	r.own.DropColumns(r.partitions)
	return r
}
