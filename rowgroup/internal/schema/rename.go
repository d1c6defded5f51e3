package schema

import (
	"fmt"
	"slices"
)

// Has reports whether the files have a column of a name.
func (s *File) Has(name string) bool {
	return slices.ContainsFunc(s.Columns, func(n *Node) bool { return n.Field.Name == name })
}

// Rename is the schema with other names of columns. It adds the names that it found to seen.
func (s *File) Rename(names map[string]string, seen map[string]bool) (*File, error) {
	c := *s
	c.Columns = slices.Clone(s.Columns)
	taken := map[string]bool{}
	for i, n := range c.Columns {
		if name, ok := names[n.Field.Name]; ok {
			seen[n.Field.Name] = true
			field := *n.Field
			field.Name = name
			top := withPath(n, n.Field.Name, name)
			top.Field = &field
			c.Columns[i] = top
			if taken[name] {
				return nil, fmt.Errorf("two columns would have the name %q", name)
			}
		}
		taken[c.Columns[i].Field.Name] = true
	}
	for i, n := range s.Columns {
		if name := c.Columns[i].Field.Name; name != n.Field.Name {
			for j, o := range s.Columns {
				if i != j && o.Field.Name == name && c.Columns[j].Field.Name == name {
					return nil, fmt.Errorf("column %q cannot be renamed to %q, which is there", n.Field.Name, name)
				}
			}
		}
	}
	return &c, nil
}

// withPath is a node, and those below, under another name of the column.
func withPath(n *Node, old, name string) *Node {
	c := *n
	if len(c.path) >= len(old) {
		c.path = name + c.path[len(old):]
	}
	c.Children = slices.Clone(n.Children)
	for i := range c.Children {
		c.Children[i] = withPath(c.Children[i], old, name)
	}
	return &c
}
