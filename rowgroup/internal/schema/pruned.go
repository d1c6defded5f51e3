package schema

import (
	"cmp"
	"slices"

	"github.com/shardfeed/shardfeed/column"
)

// SameTree reports whether two fields have the same members, all the way down.
func SameTree(a, b *column.Field) bool {
	return a.Name == b.Name && a.Kind == b.Kind && slices.EqualFunc(a.Children, b.Children, SameTree)
}

// LevelsOnly returns a node with the way to one leaf below its last column, of which only the
// levels are read.
func LevelsOnly(n *Node, depth int) *Node {
	c := *n
	if n.Leaf != nil {
		l := *n.Leaf
		l.Convert = ConvertNull
		c.Leaf = &l
		return &c
	}
	child := n.Children[0]
	if depth == 0 {
		child = slices.MinFunc(n.Children, func(a, b *Node) int { return cmp.Compare(a.levelCost(), b.levelCost()) })
	}
	c.Children = []*Node{LevelsOnly(child, max(0, depth-1))}
	return &c
}

// levelCost orders nodes by what it takes to read the levels of their cheapest leaf.
func (n *Node) levelCost() int {
	switch {
	case n.Absent():
		return 1 << 20
	case n.Leaf != nil:
		width := n.Leaf.StoredWidth()
		if width == 0 {
			width = 1 << 10
		}
		return n.Leaf.MaxRep<<12 + width
	}
	least := 1 << 20
	for _, c := range n.Children {
		least = min(least, c.levelCost())
	}
	return least
}
