package rowgroup

import (
	"io"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// A RuleColumn is a column that a rule reads. It is read whether or not it is delivered.
type RuleColumn struct {
	// Path is the column's dotted path, through structs alone. An exact name of a column wins.
	// Open accepts a path that the data does not have: binding the rule to
	// [Manifest.RuleSchema] reports it.
	Path string

	// Lengths reads only lengths and nulls of a list or a map, as filters need. It has no effect on
	// other columns. Of a struct only nulls are ever read.
	Lengths bool

	// Counted columns are needed only where FetchRule reads them: DecodeRule of a Raw of Fetch may
	// find no values in them.
	Counted bool
}

// A ruleColumn is a RuleColumn under the schema of the data set.
type ruleColumn struct {
	found     bool
	lengths   bool
	counted   bool
	depth     int                     // structs around it
	tree      *schema.Projected       // the column at the top, pruned to the path; nil for a partition
	partition *schema.PartitionColumn // nil for a column of the files
}

// A boundRule is a rule column in the files of one schema.
type boundRule struct {
	found  bool
	depth  int
	node   *schema.Node // the column at the top; of a partition, the shard's node
	shared int          // position of the delivered column that has the same leaves and serves both, else -1
	whole  bool         // of a list or map: its items too

	counted bool         // see RuleColumn.Counted
	leaf    *schema.Node // of a list or map at the top: the leaf that shows its lengths, if that is all that is wanted

	// Positions of the chunks of its leaves, among the chunks of Fetch and of FetchRule.
	chunks, alone []int
}

// RuleSchema is the schema of the whole data set, projected or not, when there are rule columns: a
// rule binds to it. Only the rule columns can be read.
func (m *Manifest) RuleSchema() *column.Schema { return m.ruleSchema }

// bind finds the rule columns of a manifest in the united schema.
func (b ruleBinding) bind(m *Manifest) error {
	m.ruleSchema = &column.Schema{}
	for _, u := range b.root.Children {
		if b.own.Index[u.Key] != nil {
			m.ruleSchema.Fields = append(m.ruleSchema.Fields, u.Tree())
		}
	}
	for _, c := range b.partitions {
		m.ruleSchema.Fields = append(m.ruleSchema.Fields, c.Field)
	}
	m.rules = make([]ruleColumn, len(b.columns))
	for i, c := range b.columns {
		r := &m.rules[i]
		r.lengths, r.counted = c.Lengths, c.Counted
		if k := slices.IndexFunc(b.partitions, func(p schema.PartitionColumn) bool { return p.Field.Name == c.Path }); k >= 0 {
			r.found, r.partition = true, &b.partitions[k]
			continue
		}
		own, err := column.Find(b.own.Children, c.Path, (*schema.Union).Descend)
		if err != nil || own == nil {
			continue // the rule's own error says more
		}
		tree, depth, err := b.projector.Only(b.own, own)
		if err != nil {
			return err
		}
		if b.own != b.root { // as all parts have it, and what others lack is nothing to this one
			u, err := column.Find(b.root.Children, c.Path, (*schema.Union).Descend)
			if err != nil || u == nil {
				continue
			}
			all := b.projector
			all.MissingIsNull = true
			if tree, depth, err = all.Only(b.root, u); err != nil {
				return err
			}
		}
		r.found, r.tree, r.depth = true, tree, depth
	}
	return nil
}

// bindRules finds the rule columns in the files of one schema.
func (s *boundSchema) bindRules(rules []ruleColumn, file []*schema.Node) error {
	s.rules = make([]boundRule, len(rules))
	for i := range rules {
		r, b := &rules[i], &s.rules[i]
		b.found, b.depth, b.shared, b.whole = r.found, r.depth, -1, !r.lengths
		b.counted = r.counted
		if r.tree == nil {
			continue
		}
		nodes, err := schema.Bind([]*schema.Projected{r.tree}, file)
		if err != nil {
			return err
		}
		b.node = nodes[0]
		b.share(s.columns)
		for _, n := range schema.LeavesOf([]*schema.Node{b.node}) {
			b.chunks = append(b.chunks, chunkOf(&s.fetched, n))
			b.alone = append(b.alone, chunkOf(&s.ruled, n))
		}
	}
	return nil
}

// chunkOf is the position of a node's leaf in a list of nodes that have each leaf once; it is
// appended when it is not there.
func chunkOf(all *[]*schema.Node, n *schema.Node) int {
	i := slices.IndexFunc(*all, func(o *schema.Node) bool { return o.Leaf.Index == n.Leaf.Index })
	if i < 0 {
		i = len(*all)
		*all = append(*all, n)
	}
	return i
}

// share makes the rule read a delivered column where both have the same leaves, so that it is
// decoded once. Where a rule that is alone wants levels only, it leaves one leaf to tell them.
func (b *boundRule) share(columns []*schema.Node) {
	target := b.node
	for range b.depth {
		if target.Missing {
			return
		}
		target = target.Children[0]
	}
	if target.Missing {
		return
	}
	isList := target.Field.Kind == column.List || target.Field.Kind == column.Map
	levels := target.Leaf == nil && (target.Field.Kind == column.Struct || isList && !b.whole)
	if b.depth == 0 && (!levels || target.IsListOfLeaves()) {
		mine := schema.LeavesOf([]*schema.Node{target})
		b.shared = slices.IndexFunc(columns, func(n *schema.Node) bool {
			return slices.EqualFunc(schema.LeavesOf([]*schema.Node{n}), mine, func(a, b *schema.Node) bool { return a.Leaf.Index == b.Leaf.Index }) && schema.SameTree(n.Field, target.Field)
		})
	}
	if levels {
		b.node = schema.LevelsOnly(b.node, b.depth)
		if b.depth == 0 && isList {
			b.leaf = lengthsLeaf(b.node)
		}
	}
}

// rulesOf is the rule columns as they are in shard s.
func (m *Manifest) rulesOf(s int) []boundRule {
	bound := m.bound[m.files[s].schema].rules
	perShard := func(b boundRule) bool { return b.node.PerShard() }
	if !slices.ContainsFunc(m.rules, func(r ruleColumn) bool { return r.partition != nil }) && !slices.ContainsFunc(bound, perShard) {
		return bound
	}
	all := slices.Clone(bound)
	for i := range all {
		if p := m.rules[i].partition; p != nil {
			all[i].node = p.Nodes[s]
		} else {
			all[i].node = all[i].node.At(s)
		}
	}
	return all
}

// DescribeRules writes what decides the values of the rule columns in a shard, besides the shard.
func (m *Manifest) DescribeRules(w io.Writer, shard int) {
	for _, b := range m.rulesOf(shard) {
		if b.node != nil {
			b.node.Describe(w, m.replace)
		}
	}
}
