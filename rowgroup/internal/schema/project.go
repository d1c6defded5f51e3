package schema

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
)

// ErrMissingColumn is in errors about columns that some or all shards lack.
var ErrMissingColumn = errors.New("there is no such column")

// Projected is one node of the projected schema: field is the result, the rest is the way to find
// it in each file.
type Projected struct {
	Field    *column.Field
	key      Key
	children []*Projected
}

// A Projector selects columns of the united schema.
type Projector struct {
	MissingIsNull bool
	Shards        []string        // by schema: the first shard that has it, for messages
	Counts        []int           // by schema: shards that have it
	chosen        map[*Union]bool // with all that is below
	touched       map[*Union]bool // something below is chosen
}

// Project prunes the united schema to what the paths name; nil names all. The order is the
// schema's. shards and counts are the first shard of each schema and how many have it.
func Project(root *Union, paths []string, missingIsNull bool, shards []string, counts []int) ([]*Projected, error) {
	p := Projector{MissingIsNull: missingIsNull, Shards: shards, Counts: counts}
	if paths != nil {
		p.chosen, p.touched = map[*Union]bool{}, map[*Union]bool{}
		if err := p.choose(root, paths); err != nil {
			return nil, err
		}
	}
	var all []*Projected
	for _, u := range root.Children {
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
func (p *Projector) choose(root *Union, paths []string) error {
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
		return &block.Error{Op: "schema", URI: p.Shards[0], RowGroup: -1, Page: -1, Err: missing}
	}
	return nil
}

// matchColumns lists the columns that match a pattern, or members of them.
func matchColumns(root *Union, pattern string) []*Union {
	seen := slices.DeleteFunc(slices.Clone(root.Children), func(u *Union) bool { return u.hidden })
	return column.Match(seen, pattern, func(u *Union) (string, []*Union) {
		name := u.field.Name
		if u.parent == root {
			name = u.Key.name
		}
		for u.field.Kind == column.List && len(u.Children) == 1 {
			u = u.Children[0]
		}
		if u.field.Kind != column.Struct {
			return name, nil
		}
		return name, u.Children
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

// MissingColumns returns the names and patterns of Options.Columns that match no column, if an
// error of Open reports such columns.
func MissingColumns(err error) (names []string) {
	var missing unknownColumns
	errors.As(err, &missing)
	for _, c := range missing {
		names = append(names, c.name)
	}
	return names
}

func (u unknownColumns) Is(target error) bool { return target == ErrMissingColumn }

// mark chooses a node and leads the way to it. A map needs its keys, so they come with any part of
// its values.
func (p *Projector) mark(u *Union) {
	p.chosen[u] = true
	for a := u.parent; a != nil; a, u = a.parent, a {
		p.touched[a] = true
		if a.parent != nil && a.parent.field.Kind == column.Map {
			if key := a.Children[0]; u != key {
				p.chosen[key] = true
			} else {
				p.chosen[a] = true
			}
		}
	}
}

// prune returns the chosen part of a node, or nil if there is no such part. whole means that a node
// above is chosen.
func (p *Projector) prune(u *Union, parent string, whole bool) (*Projected, error) {
	whole = whole || p.chosen[u]
	if !whole && !p.touched[u] {
		return nil, nil
	}
	path := joinPath(parent, u.Key.name)
	f := u.field
	c := &Projected{Field: &f, key: u.Key}
	if err := p.check(c, u, path); err != nil {
		return nil, err
	}
	for _, v := range u.Children {
		d, err := p.prune(v, path, whole)
		if err != nil {
			return nil, err
		}
		if d != nil {
			c.children = append(c.children, d)
			f.Children = append(f.Children, d.Field)
		}
	}
	return c, nil
}

// Only prunes the column at the top of a node to that node, and returns how many structs are around
// it.
func (p Projector) Only(root, u *Union) (tree *Projected, depth int, err error) {
	top := u
	for top.parent != root {
		top = top.parent
		depth++
	}
	p.chosen, p.touched = map[*Union]bool{}, map[*Union]bool{}
	p.mark(u)
	tree, err = p.prune(top, "", false)
	return tree, depth, err
}

// check refuses what no common type holds, and what some shards lack unless the user takes nulls
// for it.
func (p *Projector) check(c *Projected, u *Union, path string) error {
	if u.conflict {
		most, odd := u.odd(p.Counts)
		return &block.Error{
			Op: "schema", URI: p.Shards[odd.schemas[0]], RowGroup: -1, Column: path, Page: -1,
			Err:  fmt.Errorf("its type is %s here and %s in %s", odd.field, most.field, p.Shards[most.schemas[0]]),
			Hint: conflictHint(u, most.field, odd.field),
		}
	}
	if u.lacks < 0 {
		return nil
	}
	if p.MissingIsNull {
		c.Field.Nullable = true
		return nil
	}
	return &block.Error{
		Op: "schema", URI: p.Shards[u.lacks], RowGroup: -1, Column: path, Page: -1,
		Err:  fmt.Errorf("%w here; %s has it", ErrMissingColumn, p.Shards[u.first]),
		Hint: "leave the column out, or read it as null where it is missing with {Missing=null}",
	}
}

// conflictHint says why two types have no common one, and what the user can do.
func conflictHint(u *Union, a, b *column.Field) string {
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

// Bind finds the projected columns, or members of a struct, in a file's schema. The nodes are new:
// their fields are the projected ones.
func Bind(columns []*Projected, nodes []*Node) ([]*Node, error) {
	byKey := make(map[Key]*Node, len(nodes))
	for i, k := range memberKeys(nodes) {
		byKey[k] = nodes[i]
	}
	bound := make([]*Node, len(columns))
	for i, c := range columns {
		n := byKey[c.key]
		if n == nil {
			bound[i] = &Node{Field: c.Field, Missing: true}
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

func bindNode(c *Projected, n *Node) (*Node, error) {
	b := *n
	b.Field, b.Children = c.Field, nil
	var err error
	if n.Numbers != nil {
		err = n.Numbers.bindTo(c.Field)
	}
	switch {
	case err != nil, n.Numbers != nil && n.Leaf == nil:
	case n.Given != nil:
		b.Given, err = n.Given.bindTo(n, c.Field)
	case n.Partition != nil:
		b.Partition, err = n.Partition.bindTo(n.Field, c.Field)
	case n.Missing:
	case n.Leaf != nil:
		b.Leaf, err = n.Leaf.bindTo(cmp.Or(n.inFile, n.Field), c.Field)
	case c.Field.Kind == column.Struct:
		if b.Children, err = Bind(c.children, n.Children); err == nil {
			err = b.needLevels(n)
		}
	default: // List, Map
		var item *Node
		item, err = bindNode(c.children[0], n.Children[0])
		b.Children = []*Node{item}
	}
	return &b, err
}

// needLevels makes sure that a struct without a wanted member in this file still has a leaf whose
// levels mark its nulls: its first missing member becomes one that is always null and has the
// levels of some leaf of the file. n is the struct in the file.
func (b *Node) needLevels(n *Node) error {
	if slices.ContainsFunc(b.Children, func(c *Node) bool { return !c.Absent() }) {
		return nil
	}
	first := slices.IndexFunc(b.Children, func(c *Node) bool { return c.Missing })
	l := cmp.Or(n.stored, n).levelLeaf(n.Rep)
	if l == nil || first < 0 {
		return fmt.Errorf("column %q: no wanted member of it is in this file, and its other members are lists", n.path)
	}
	carrier := *l
	carrier.Convert = ConvertNull
	c := b.Children[first]
	b.Children[first] = &Node{Field: c.Field, path: n.path, Def: carrier.MaxDef, Rep: carrier.MaxRep, Leaf: &carrier}
	return nil
}

// levelLeaf finds a leaf under the node that is not repeated within it.
func (n *Node) levelLeaf(rep int) *Leaf {
	if n.Leaf != nil && n.Leaf.MaxRep == rep {
		return n.Leaf
	}
	for _, c := range n.Children {
		if l := c.levelLeaf(rep); l != nil {
			return l
		}
	}
	return nil
}

// LeavesOf lists the nodes that have a leaf, in the order of a pre-order walk.
func LeavesOf(nodes []*Node) []*Node {
	var all []*Node
	for _, n := range nodes {
		if n.Leaf != nil {
			all = append(all, n)
		}
		all = append(all, LeavesOf(n.Children)...)
	}
	return all
}
