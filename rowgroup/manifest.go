package rowgroup

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/rowgroup/internal/image"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

// A Manifest is the row groups of a data set under one projected schema. It does not change once it
// is open and is safe for concurrent use.
type Manifest struct {
	shards []shard.Shard
	schema *column.Schema

	ruleSchema *column.Schema
	rows       int64
	groups     []Group
	first      []int // position of each shard's first group in groups, and their number at the end
	firstShard int   // of the part, among those of all parts
	firstRow   int64 // number of the first row
	files      []file
	bound      []boundSchema
	parts      []schema.PartitionColumn
	rules      []ruleColumn
	replace    bool // what is not UTF-8; see Options.ReplaceUTF8
	pool       *mem.Pool
	hot        *footer.Hot
	objects    *objects
	records    *footer.Records
	mender     *footer.Mender
	tier       *image.Shards // nil: nothing is kept decoded
}

// A file is what is kept of a shard's footer.
type file struct {
	record []byte
	schema int // position in Manifest.bound
}

// A boundSchema is the projected columns as they lie in the files of one schema.
type boundSchema struct {
	raw      schema.Bytes
	excluded bool // see Manifest.Excluded
	columns  []*schema.Node
	leaves   []*schema.Node // see LeavesOf

	rules   []boundRule
	fetched []*schema.Node // leaves, and behind them the others that rules read
	ruled   []*schema.Node // a node for each leaf that rules read
}

// A Group is one row group.
type Group struct {
	Shard, RowGroup int32 // position of the shard in the manifest, and of the row group in the shard
	Rows            int64
	First           int64 // number of its first row in the manifest
	Bytes           int64 // uncompressed, of all columns, projected or not
	Compressed      int64 // encoded bytes of the projected columns and of those of rules
}

// Open reads the footers of the shards, or finds them in the index, unites their schemas by name
// and projects them. The shards keep their order.
func Open(ctx context.Context, store shard.Store, shards []shard.Shard, o Options) (*Manifest, error) {
	all, err := OpenParts(ctx, store, []Part{{Shards: shards, RuleColumns: o.RuleColumns}}, o)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// bindSchema finds the projected columns, and those of rules, in the files of one schema.
func (m *Manifest) bindSchema(columns []*schema.Projected, s *schema.File) (b boundSchema, err error) {
	b.raw = s.Bytes
	if b.columns, err = schema.Bind(columns, s.Columns); err != nil {
		return b, err
	}
	b.leaves = schema.LeavesOf(b.columns)
	b.fetched = slices.Clone(b.leaves)
	return b, b.bindRules(m.rules, s.Columns)
}

// columnsOf is the projected columns as they are in shard s.
func (m *Manifest) columnsOf(s int) []*schema.Node {
	columns := m.bound[m.files[s].schema].columns
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

// distinctSchemas lists the schemas in the order of the first shards that have them, with the
// addresses of those, and how many shards have each.
func (m *Manifest) distinctSchemas(all []footer.Loaded) (schemas []*schema.File, owners []string, counts []int) {
	position := map[*schema.File]int{}
	m.files = make([]file, len(all))
	for i, l := range all {
		k, ok := position[l.Schema]
		if !ok {
			k = len(schemas)
			position[l.Schema] = k
			schemas = append(schemas, l.Schema)
			owners = append(owners, m.shards[i].URI)
			counts = append(counts, 0)
		}
		counts[k]++
		m.files[i] = file{record: l.Record, schema: k}
	}
	return schemas, owners, counts
}

func (m *Manifest) addGroups(all []footer.Loaded) error {
	n := 0
	for i := range all { // parsed twice: records are large beside their groups
		r, err := footer.ParseRecord(all[i].Record)
		if err != nil {
			return footer.ShardError(m.shards[i], err)
		}
		n += r.Groups
	}
	m.groups = make([]Group, 0, n)
	m.first = make([]int, 0, len(all)+1)
	for i := range all {
		m.first = append(m.first, len(m.groups))
		r, err := footer.ParseRecord(all[i].Record)
		if err != nil {
			return footer.ShardError(m.shards[i], err)
		}
		for g := range r.Groups {
			group, err := m.newGroup(&r, i, g)
			if err != nil {
				return err
			}
			m.groups = append(m.groups, group)
		}
	}
	m.first = append(m.first, len(m.groups))
	return nil
}

// newGroup adds up a row group; it refuses a projected chunk that no decoder reads.
func (m *Manifest) newGroup(r *footer.Record, s, g int) (Group, error) {
	group := Group{Shard: int32(s), RowGroup: int32(g), Rows: r.Rows.At(g), First: m.firstRow + m.rows, Bytes: r.Bytes.At(g)}
	for _, n := range m.bound[m.files[s].schema].fetched {
		k := r.Chunk(n.Leaf.Index, g)
		group.Compressed += r.Compressed.At(k)
		if err := cmp.Or(n.Leaf.Readable(), r.Readable(k)); err != nil {
			return group, &Error{
				Op: "footer", URI: m.shards[s].URI, RowGroup: g, Column: n.Leaf.Path, Page: -1,
				Err: err, Hint: "leave the column out, or write it in another way",
			}
		}
	}
	m.rows += group.Rows
	return group, nil
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

// Close closes the shards that are open. Raws that were fetched must have been released.
func (m *Manifest) Close() error { return m.objects.close() }

// Known yields the footers of all shards as blocks of bytes, each with the number of its shards,
// which are consecutive; see [ParseKnown].
func (m *Manifest) Known() iter.Seq2[int, []byte] {
	return footer.FormatKnown(len(m.files), func(i int) ([]byte, schema.Bytes) {
		f := m.files[i]
		return f.record, m.bound[f.schema].raw
	})
}
