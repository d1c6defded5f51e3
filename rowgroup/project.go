package rowgroup

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/column"
)

// projected is one node of the projected schema: field is the result, the rest is the way to find
// it in each file.
type projected struct {
	field    *column.Field
	key      memberKey
	children []*projected
}

// A projector selects columns of the united schema.
type projector struct {
	missingIsNull bool
	shards        []string            // by schema: the first shard that has it, for messages
	counts        []int               // by schema: shards that have it
	chosen        map[*unionNode]bool // with all that is below
	touched       map[*unionNode]bool // something below is chosen
}

// project prunes the united schema to what the paths name; nil names all. The order is the
// schema's. shards and counts are the first shard of each schema and how many have it.
func project(root *unionNode, paths []string, missingIsNull bool, shards []string, counts []int) ([]*projected, error) {
	p := projector{missingIsNull: missingIsNull, shards: shards, counts: counts}
	if paths != nil {
		p.chosen, p.touched = map[*unionNode]bool{}, map[*unionNode]bool{}
		if err := p.choose(root, paths); err != nil {
			return nil, err
		}
	}
	var all []*projected
	for _, u := range root.children {
		c, err := p.prune(u, "", paths == nil && !u.hidden)
		if err != nil {
			return nil, err
		}
		if c != nil {
			all = append(all, c)
		}
	}
	return all, nil
}

// choose marks the nodes that the paths name. A column's exact name wins over a path; a path in a
// file wins over its short form, which leaves out the groups that lists and maps are made of.
func (p *projector) choose(root *unionNode, paths []string) error {
	names := indexNames(root)
	var missing unknownColumns
	for _, name := range paths {
		nodes := names.find(name)
		if nodes == nil {
			nodes = matchColumns(root, name)
		}
		if nodes == nil {
			missing = append(missing, unknownColumn{name, names.near(name)})
		}
		for _, u := range nodes {
			p.mark(u)
		}
	}
	if missing != nil {
		return &Error{Op: "schema", URI: p.shards[0], RowGroup: -1, Page: -1, Err: missing}
	}
	return nil
}

// matchColumns lists the columns that a pattern stands for, or members of them.
func matchColumns(root *unionNode, pattern string) []*unionNode {
	seen := slices.DeleteFunc(slices.Clone(root.children), func(u *unionNode) bool { return u.hidden })
	return column.Match(seen, pattern, func(u *unionNode) (string, []*unionNode) {
		name := u.field.Name
		if u.parent == root {
			name = u.key.name
		}
		for u.field.Kind == column.List && len(u.children) == 1 {
			u = u.children[0]
		}
		if u.field.Kind != column.Struct {
			return name, nil
		}
		return name, u.children
	})
}

// unknownColumns are the names that no column has, each with the names most like it.
type unknownColumns []unknownColumn

type unknownColumn struct{ name, near string }

func (u unknownColumns) Error() string {
	texts := make([]string, len(u))
	for i, c := range u {
		texts[i] = fmt.Sprintf("there is no column %q%s", c.name, c.near)
	}
	return strings.Join(texts, "; ")
}

// MissingColumns are the names and patterns of Options.Columns that name no column, if that is what
// an error of Open says.
func MissingColumns(err error) (names []string) {
	var missing unknownColumns
	errors.As(err, &missing)
	for _, c := range missing {
		names = append(names, c.name)
	}
	return names
}

func (u unknownColumns) Is(target error) bool { return target == ErrMissingColumn }

// mark chooses a node and leads the way to it. A map without its keys is none, so they come with
// whatever is chosen of its values.
func (p *projector) mark(u *unionNode) {
	p.chosen[u] = true
	for a := u.parent; a != nil; a, u = a.parent, a {
		p.touched[a] = true
		if a.parent != nil && a.parent.field.Kind == column.Map {
			if key := a.children[0]; u != key {
				p.chosen[key] = true
			} else {
				p.chosen[a] = true
			}
		}
	}
}

// prune returns the node with what is chosen of it, nil when that is nothing. whole says that a
// node above is chosen.
func (p *projector) prune(u *unionNode, parent string, whole bool) (*projected, error) {
	whole = whole || p.chosen[u]
	if !whole && !p.touched[u] {
		return nil, nil
	}
	path := joinPath(parent, u.key.name)
	f := u.field
	c := &projected{field: &f, key: u.key}
	if err := p.check(c, u, path); err != nil {
		return nil, err
	}
	for _, v := range u.children {
		d, err := p.prune(v, path, whole)
		if err != nil {
			return nil, err
		}
		if d != nil {
			c.children = append(c.children, d)
			f.Children = append(f.Children, d.field)
		}
	}
	return c, nil
}

// check refuses what no common type holds, and what some shards lack unless the user takes nulls
// for it.
func (p *projector) check(c *projected, u *unionNode, path string) error {
	if u.conflict {
		most, odd := u.odd(p.counts)
		return &Error{
			Op: "schema", URI: p.shards[odd.schemas[0]], RowGroup: -1, Column: path, Page: -1,
			Err:  fmt.Errorf("its type is %s here and %s in %s", odd.field, most.field, p.shards[most.schemas[0]]),
			Hint: conflictHint(u, most.field, odd.field),
		}
	}
	if u.lacks < 0 {
		return nil
	}
	if p.missingIsNull {
		c.field.Nullable = true
		return nil
	}
	return &Error{
		Op: "schema", URI: p.shards[u.lacks], RowGroup: -1, Column: path, Page: -1,
		Err:  fmt.Errorf("%w here; %s has it", ErrMissingColumn, p.shards[u.first]),
		Hint: "leave the column out, or read it as null where it is missing with {Missing=null}",
	}
}

// conflictHint says why two types have no common one, and what the user can do.
func conflictHint(u *unionNode, a, b *column.Field) string {
	why := "no type holds both without loss"
	switch {
	case isMoment(*a) && isMoment(*b):
		why = "one is local and the other UTC"
	case a.Tensor != nil && b.Tensor != nil:
		why = "a batch needs tensors of one shape"
	}
	for _, to := range []column.Type{column.TypeFloat64, column.TypeTimestamp} {
		if u.castable(&column.Field{Type: to}) {
			return why + "; cast the column to the type you want, leave it out, or rewrite the shards with one type"
		}
	}
	return why + "; leave the column out, or rewrite the shards with one type"
}

// bind finds the projected columns, or members of a struct, in a file's schema. The nodes are new:
// their fields are the projected ones.
func bind(columns []*projected, nodes []*node) ([]*node, error) {
	byKey := make(map[memberKey]*node, len(nodes))
	for i, k := range memberKeys(nodes) {
		byKey[k] = nodes[i]
	}
	bound := make([]*node, len(columns))
	for i, c := range columns {
		n := byKey[c.key]
		if n == nil {
			bound[i] = &node{field: c.field, missing: true}
			continue
		}
		b, err := bindNode(c, n)
		if err != nil {
			return nil, err
		}
		bound[i] = b
	}
	return bound, nil
}

func bindNode(c *projected, n *node) (*node, error) {
	b := *n
	b.field, b.children = c.field, nil
	var err error
	switch {
	case n.leaf != nil:
		b.leaf, err = n.leaf.bindTo(n.field, c.field)
	case c.field.Kind == column.Struct:
		if b.children, err = bind(c.children, n.children); err == nil {
			err = b.needLevels(n)
		}
	default: // List, Map
		var item *node
		item, err = bindNode(c.children[0], n.children[0])
		b.children = []*node{item}
	}
	return &b, err
}

// needLevels makes sure that a struct of which no wanted member is in this file still has a leaf
// that tells where it is null: its first missing member becomes one that is always null and has the
// levels of some leaf of the file. n is the struct in the file.
func (b *node) needLevels(n *node) error {
	for _, c := range b.children {
		if !c.missing {
			return nil
		}
	}
	l := n.levelLeaf(n.rep)
	if l == nil {
		return fmt.Errorf("column %q: no wanted member of it is in this file, and its other members are lists", n.path)
	}
	carrier := *l
	carrier.convert = convertNull
	c := b.children[0]
	b.children[0] = &node{field: c.field, path: n.path, def: carrier.maxDef, rep: carrier.maxRep, leaf: &carrier}
	return nil
}

// levelLeaf finds a leaf under the node that is not repeated within it.
func (n *node) levelLeaf(rep int) *leaf {
	if n.leaf != nil && n.leaf.maxRep == rep {
		return n.leaf
	}
	for _, c := range n.children {
		if l := c.levelLeaf(rep); l != nil {
			return l
		}
	}
	return nil
}

// leavesOf lists the nodes that have a leaf, in the order of a pre-order walk.
func leavesOf(nodes []*node) []*node {
	var all []*node
	for _, n := range nodes {
		if n.leaf != nil {
			all = append(all, n)
		}
		all = append(all, leavesOf(n.children)...)
	}
	return all
}
