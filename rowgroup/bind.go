package rowgroup

import (
	"fmt"

	"github.com/shardfeed/shardfeed/column"
)

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
		l := *n.leaf
		l.convert = l.convertTo(n.field, c.field)
		b.leaf = &l
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
