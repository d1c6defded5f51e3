package schema

import (
	"maps"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
)

// names finds the nodes of a united schema by what users call them.
type names struct {
	columns map[string][]*Union // by exact name, at the top
	paths   map[string][]*Union // by dotted path in a file
	short   map[string][]*Union // by dotted path without the groups of lists and maps
}

func indexNames(root *Union) *names {
	n := &names{columns: map[string][]*Union{}, paths: map[string][]*Union{}, short: map[string][]*Union{}}
	for _, u := range root.Children {
		n.columns[u.Key.name] = append(n.columns[u.Key.name], u)
		n.add(u, u.Key.name)
	}
	for _, name := range root.partitions { // no nodes: they are asked for elsewhere, and only suggested here
		n.columns[name], n.short[name] = nil, nil
	}
	return n
}

func (n *names) add(u *Union, short string) {
	for _, p := range u.paths {
		n.paths[p] = append(n.paths[p], u)
	}
	if !slices.Contains(n.short[short], u.parent) { // the short path of an item is its list's
		n.short[short] = append(n.short[short], u)
	}
	for _, c := range u.Children {
		if u.field.Kind == column.Struct {
			n.add(c, joinPath(short, c.field.Name))
		} else {
			n.add(c, short)
		}
	}
}

func (n *names) find(path string) []*Union {
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
