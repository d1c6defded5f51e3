package rowgroup

import (
	"cmp"
	"slices"

	"github.com/shardfeed/shardfeed/column"
)

// A RuleColumn is a column that a rule reads. It is read whether or not it is delivered.
type RuleColumn struct {
	// Path is the column's dotted path, through structs alone. An exact name of a column wins.
	// Open accepts a path that the data does not have: binding the rule to
	// [Manifest.RuleSchema] reports it.
	Path string

	// Lengths says that of a list or a map only lengths and nulls are read, as filters do. It says
	// nothing of other columns. Of a struct only nulls are ever read.
	Lengths bool
}

// A ruleColumn is a RuleColumn under the schema of the data set.
type ruleColumn struct {
	found     bool
	lengths   bool
	depth     int              // structs around it
	tree      *projected       // the column at the top, pruned to the path; nil for a partition
	partition *partitionColumn // nil for a column of the files
}

// A boundRule is a rule column as it lies in the files of one schema.
type boundRule struct {
	found  bool
	depth  int
	node   *node // the column at the top; of a partition, that of the shard
	shared int   // position of the delivered column that has the same leaves and serves both, else -1
	whole  bool  // of a list or map: its items too
	leaf   *node // of a list or map at the top: the leaf that tells its lengths, if that is all that is wanted

	// Positions of the chunks of its leaves, among those of Fetch and those of FetchRule.
	chunks, alone []int
}

// RuleSchema is the schema of the whole data set, projected or not, when there are rule columns: a
// rule binds to it. Only the rule columns can be read.
func (m *Manifest) RuleSchema() *column.Schema { return m.ruleSchema }

// bindRules finds the rule columns in the united schema.
func (m *Manifest) bindRules(b ruleBinding) error {
	m.ruleSchema = &column.Schema{}
	for _, u := range b.root.children {
		if b.own.index[u.key] != nil {
			m.ruleSchema.Fields = append(m.ruleSchema.Fields, u.tree())
		}
	}
	for _, c := range b.partitions {
		m.ruleSchema.Fields = append(m.ruleSchema.Fields, c.field)
	}
	m.rules = make([]ruleColumn, len(b.columns))
	for i, c := range b.columns {
		r := &m.rules[i]
		r.lengths = c.Lengths
		if k := slices.IndexFunc(b.partitions, func(p partitionColumn) bool { return p.field.Name == c.Path }); k >= 0 {
			r.found, r.partition = true, &b.partitions[k]
			continue
		}
		own, err := column.Find(b.own.children, c.Path, (*unionNode).descend)
		if err != nil || own == nil {
			continue // the rule's own error says more
		}
		tree, depth, err := b.prune(b.own, own)
		if err != nil {
			return err
		}
		if b.own != b.root { // as all parts have it, and what others lack is nothing to this one
			u, err := column.Find(b.root.children, c.Path, (*unionNode).descend)
			if err != nil || u == nil {
				continue
			}
			all := b
			all.projector.missingIsNull = true
			if tree, depth, err = all.prune(b.root, u); err != nil {
				return err
			}
		}
		r.found, r.tree, r.depth = true, tree, depth
	}
	return nil
}

// prune prunes the column at the top of a node to it.
func (b ruleBinding) prune(root, u *unionNode) (tree *projected, depth int, err error) {
	top := u
	for top.parent != root {
		top = top.parent
		depth++
	}
	p := b.projector
	p.chosen, p.touched = map[*unionNode]bool{}, map[*unionNode]bool{}
	p.mark(u)
	tree, err = p.prune(top, "", false)
	return tree, depth, err
}

// descend shows a node to [column.Find], which goes through structs alone.
func (u *unionNode) descend() (*column.Field, []*unionNode) {
	if u.field.Kind != column.Struct {
		return &u.field, nil
	}
	return &u.field, u.children
}

// tree is the field of a node with its children.
func (u *unionNode) tree() *column.Field {
	f := u.field
	f.Children = nil
	f.Nullable = f.Nullable || u.lacks >= 0
	for _, c := range u.children {
		f.Children = append(f.Children, c.tree())
	}
	return &f
}

// bindRules finds the rule columns in the files of one schema.
func (s *boundSchema) bindRules(rules []ruleColumn, file []*node) error {
	s.rules = make([]boundRule, len(rules))
	for i := range rules {
		r, b := &rules[i], &s.rules[i]
		b.found, b.depth, b.shared, b.whole = r.found, r.depth, -1, !r.lengths
		if r.tree == nil {
			continue
		}
		nodes, err := bind([]*projected{r.tree}, file)
		if err != nil {
			return err
		}
		b.node = nodes[0]
		b.share(s.columns)
		for _, n := range leavesOf([]*node{b.node}) {
			b.chunks = append(b.chunks, chunkOf(&s.fetched, n))
			b.alone = append(b.alone, chunkOf(&s.ruled, n))
		}
	}
	return nil
}

// chunkOf is the position of a node's leaf in a list of nodes that have each leaf once; it is
// appended when it is not there.
func chunkOf(all *[]*node, n *node) int {
	i := slices.IndexFunc(*all, func(o *node) bool { return o.leaf.index == n.leaf.index })
	if i < 0 {
		i = len(*all)
		*all = append(*all, n)
	}
	return i
}

// share makes the rule read a delivered column where both have the same leaves, so that it is
// decoded once. Where a rule that is alone wants levels only, it leaves one leaf to tell them.
func (b *boundRule) share(columns []*node) {
	target := b.node
	for range b.depth {
		if target.missing {
			return
		}
		target = target.children[0]
	}
	if target.missing {
		return
	}
	isList := target.field.Kind == column.List || target.field.Kind == column.Map
	levels := target.leaf == nil && (target.field.Kind == column.Struct || isList && !b.whole)
	if b.depth == 0 && (!levels || isListOfLeaves(target)) {
		mine := leavesOf([]*node{target})
		b.shared = slices.IndexFunc(columns, func(n *node) bool {
			return slices.EqualFunc(leavesOf([]*node{n}), mine, func(a, b *node) bool { return a.leaf.index == b.leaf.index }) && sameTree(n.field, target.field)
		})
	}
	if levels {
		b.node = pruned(b.node, b.depth)
		if b.depth == 0 && isList {
			b.leaf = lengthsLeaf(b.node)
		}
	}
}

// sameTree says whether two fields have the same members, all the way down.
func sameTree(a, b *column.Field) bool {
	return a.Name == b.Name && a.Kind == b.Kind && slices.EqualFunc(a.Children, b.Children, sameTree)
}

// pruned is a node with the way to one leaf below its last column, of which the levels alone are of
// interest.
func pruned(n *node, depth int) *node {
	c := *n
	if n.leaf != nil {
		l := *n.leaf
		l.convert = convertNull
		c.leaf = &l
		return &c
	}
	child := n.children[0]
	if depth == 0 {
		child = slices.MinFunc(n.children, func(a, b *node) int { return cmp.Compare(a.levelCost(), b.levelCost()) })
	}
	c.children = []*node{pruned(child, max(0, depth-1))}
	return &c
}

// levelCost orders nodes by what it takes to read the levels of their cheapest leaf.
func (n *node) levelCost() int {
	switch {
	case n.missing:
		return 1 << 20
	case n.leaf != nil:
		width := storedWidth(n.leaf)
		if width == 0 {
			width = 1 << 10
		}
		return n.leaf.maxRep<<12 + width
	}
	least := 1 << 20
	for _, c := range n.children {
		least = min(least, c.levelCost())
	}
	return least
}

// rulesOf is the rule columns as they are in shard s.
func (m *Manifest) rulesOf(s int) []boundRule {
	bound := m.bound[m.files[s].schema].rules
	if !slices.ContainsFunc(m.rules, func(r ruleColumn) bool { return r.partition != nil }) {
		return bound
	}
	all := slices.Clone(bound)
	for i := range all {
		if p := m.rules[i].partition; p != nil {
			all[i].node = p.nodes[s]
		}
	}
	return all
}
