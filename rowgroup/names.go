package rowgroup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/column"
)

const (
	nearNames  = 3 // suggested for an unknown one
	nearLength = 200
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
	type match struct {
		name string
		far  int
	}
	var all []match
	for name := range n.short {
		if d := distance(path, name); d <= max(2, len(path)/3) {
			all = append(all, match{name, d})
		}
	}
	if len(all) == 0 {
		return n.some()
	}
	slices.SortFunc(all, func(a, b match) int { return cmp.Or(a.far-b.far, strings.Compare(a.name, b.name)) })
	quoted := make([]string, 0, nearNames)
	for _, m := range all[:min(len(all), nearNames)] {
		quoted = append(quoted, fmt.Sprintf("%q", m.name))
	}
	return "; there is " + strings.Join(quoted, ", ")
}

// some lists a few columns when none is like the one asked for.
func (n *names) some() string {
	var all []string
	for name := range n.columns {
		all = append(all, fmt.Sprintf("%q", name))
	}
	slices.Sort(all)
	text := strings.Join(all, ", ")
	if len(text) > nearLength {
		return fmt.Sprintf("; there are %d others", len(all))
	}
	return "; there is " + text
}

// distance is the edit distance of two names, case apart; names of very different length are just
// far.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if d := len(a) - len(b); d > 8 || d < -8 || len(a) > nearLength {
		return nearLength
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
