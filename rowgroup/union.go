package rowgroup

import "slices"

// A memberKey finds a member of a struct, or a column: names may repeat, and then the k-th is the k-th everywhere.
type memberKey struct {
	name string
	nth  int
}

// A unionNode is one node of the schemas of all files, united by name.
type unionNode struct {
	field    Field // without children
	key      memberKey
	paths    []string // dotted paths in the files
	parent   *unionNode
	children []*unionNode
	index    map[memberKey]*unionNode // of a Struct and of the root

	// Schemas, by position in the order of the first shards that have them; -1 when there is none.
	first    int // has this node
	typed    int // gave it its type, which is not Null
	members  int // gave it members
	lacks    int // the first that has the parent but not this node
	conflict *typeConflict

	partitions []string // at the root: the columns that no file has
}

// A typeConflict is two types that no common type holds without loss.
type typeConflict struct {
	have, want string
	first      int // schema with the type have
	second     int // schema with the type want
}

// unite puts the schemas of all files together: columns in the order of the first schema, then new ones as they appear.
func unite(schemas []*fileSchema) *unionNode {
	root := &unionNode{field: Field{Kind: Struct}, members: -1, lacks: -1}
	for i, s := range schemas {
		root.mergeMembers(s.columns, i)
	}
	return root
}

// merge adds what schema s says of a node.
func (u *unionNode) merge(n *node, s int) {
	if !slices.Contains(u.paths, n.path) {
		u.paths = append(u.paths, n.path)
	}
	f := *n.field
	f.Children = nil
	f.Nullable = f.Nullable || f.Kind == Null
	if u.field.Kind == Null { // no schema gave it a type yet
		f.Nullable = f.Nullable || u.field.Nullable
		u.field = f
		if f.Kind != Null {
			u.typed = s
		}
		u.mergeChildren(n, s)
		return
	}
	f, ok := uniteTypes(u.field, f)
	if !ok {
		if u.conflict == nil {
			u.conflict = &typeConflict{have: u.build().String(), want: n.field.String(), first: u.typed, second: s}
		}
		return
	}
	u.field = f
	u.mergeChildren(n, s)
}

// build returns the node's field with all its children.
func (u *unionNode) build() *Field {
	f := u.field
	f.Children = make([]*Field, len(u.children))
	for i, c := range u.children {
		f.Children[i] = c.build()
	}
	return &f
}

func (u *unionNode) mergeChildren(n *node, s int) {
	switch n.field.Kind {
	case Struct:
		u.mergeMembers(n.children, s)
	case List, Map:
		if len(u.children) == 0 {
			u.children = []*unionNode{newUnionNode(u, n.children[0], memberKey{name: n.children[0].field.Name}, s)}
		}
		u.children[0].merge(n.children[0], s)
	}
}

func newUnionNode(parent *unionNode, n *node, key memberKey, s int) *unionNode {
	return &unionNode{parent: parent, field: Field{Name: n.field.Name, Kind: Null}, key: key, first: s, typed: -1, members: -1, lacks: -1}
}

// mergeMembers adds the members of a struct, or the columns of a file.
func (u *unionNode) mergeMembers(nodes []*node, s int) {
	if u.index == nil {
		u.index = make(map[memberKey]*unionNode, len(nodes))
	}
	seen := make(map[*unionNode]bool, len(nodes))
	for i, key := range memberKeys(nodes) {
		c := u.index[key]
		if c == nil {
			c = newUnionNode(u, nodes[i], key, s)
			if u.members >= 0 && u.members < s {
				c.lacks = u.members
			}
			u.index[key] = c
			u.children = append(u.children, c)
		}
		c.merge(nodes[i], s)
		seen[c] = true
	}
	for _, c := range u.children {
		if !seen[c] && c.lacks < 0 {
			c.lacks = s
		}
	}
	if u.members < 0 {
		u.members = s
	}
}

// memberKeys numbers the occurrences of each name.
func memberKeys(nodes []*node) []memberKey {
	keys := make([]memberKey, len(nodes))
	count := make(map[string]int, len(nodes))
	for i, n := range nodes {
		name := n.field.Name
		keys[i] = memberKey{name, count[name]}
		count[name]++
	}
	return keys
}
