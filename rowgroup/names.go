package rowgroup

import (
	"maps"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
)

// names finds the nodes of a united schema by what users call them.
type names struct {
	columns map[string][]*unionNode // by exact name, at the top
	paths   map[string][]*unionNode // by dotted path in a file
	short   map[string][]*unionNode // by dotted path without the groups of lists and maps
}

func indexNames(root *unionNode) *names {
	n := &names{columns: map[string][]*unionNode{}, paths: map[string][]*unionNode{}, short: map[string][]*unionNode{}}
	for _, u := range root.children {
		n.columns[u.key.name] = append(n.columns[u.key.name], u)
		n.add(u, u.key.name)
	}
	for _, name := range root.partitions { // no nodes: they are asked for elsewhere, and only suggested here
		n.columns[name], n.short[name] = nil, nil
	}
	return n
}

func (n *names) add(u *unionNode, short string) {
	for _, p := range u.paths {
		n.paths[p] = append(n.paths[p], u)
	}
	if !slices.Contains(n.short[short], u.parent) { // the short path of an item is its list's
		n.short[short] = append(n.short[short], u)
	}
	for _, c := range u.children {
		if u.field.Kind == column.Struct {
			n.add(c, joinPath(short, c.field.Name))
		} else {
			n.add(c, short)
		}
	}
}

func (n *names) find(path string) []*unionNode {
	if u := n.columns[path]; u != nil {
		return u
	}
	if u := n.paths[path]; u != nil {
		return u
	}
	return n.short[path]
}

// near lists the names most like an unknown one, for a message.
func (n *names) near(path string) string {
	return option.Near(path, maps.Keys(n.short), slices.Sorted(maps.Keys(n.columns)))
}
