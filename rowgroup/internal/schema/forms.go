package schema

import "github.com/shardfeed/shardfeed/column"

// IsPlainLeaf reports whether the node is a leaf whose values are in the file.
func (n *Node) IsPlainLeaf() bool {
	return n.Leaf != nil && !n.Missing && n.Leaf.Convert != ConvertNull && n.Field.Kind != column.Null
}

// IsListOfLeaves reports whether the node, of the top level, is a list whose items are leaves.
func (n *Node) IsListOfLeaves() bool {
	return n.Field.Kind == column.List && n.Rep == 1 && len(n.Children) == 1 && n.Children[0].IsPlainLeaf()
}

// IsMovable reports whether the decoder can lay the rows of the node in another order, except where
// lists have null items.
func (n *Node) IsMovable() bool {
	switch {
	case n.Missing || n.Partition != nil || n.Numbers != nil || n.Leaf != nil:
		return true
	case n.Field.Kind == column.Struct:
		for _, c := range n.Children {
			if !c.IsMovable() {
				return false
			}
		}
		return true
	}
	return n.IsListOfLeaves() && n.Children[0].Field.Kind == column.Fixed
}
