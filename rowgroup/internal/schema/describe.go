package schema

import (
	"fmt"
	"io"
)

// Describe writes what decides the values that a node has in a file, besides the file. replace is
// true where text that is not UTF-8 is changed.
func (n *Node) Describe(w io.Writer, replace bool) {
	f := n.Field
	fmt.Fprintln(w, f.Kind, f.Type, f.Width, f.ListSize, n.Missing, len(n.Children), replace && IsText(f.Type))
	if n.Leaf != nil {
		fmt.Fprintln(w, n.Leaf.Index, n.Leaf.Path, n.Leaf.Convert, f.Precision, f.Scale)
	}
	if n.Leaf != nil && n.Leaf.Recast != nil {
		fmt.Fprintln(w, n.Leaf.Recast.Own, n.Leaf.Recast.To)
	}
	if n.Numbers != nil {
		fmt.Fprintln(w, "numbers", n.Numbers.IDs, n.Numbers.First)
	}
	if n.Partition != nil {
		fmt.Fprintf(w, "%t %q\n", n.Partition.Null, n.Partition.Data)
	}
	for _, c := range n.Children {
		c.Describe(w, replace)
	}
}
