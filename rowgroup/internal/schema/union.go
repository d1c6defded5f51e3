package schema

import (
	"slices"

	"github.com/shardfeed/shardfeed/column"
)

// A Key finds a member of a struct, or a column: names may repeat, and then the k-th is the
// k-th everywhere.
type Key struct {
	name string
	nth  int
}

// A Union is one node of the schemas of all files, united by name.
type Union struct {
	field    column.Field // without children
	Key      Key
	paths    []string // dotted paths in the files
	parent   *Union
	Children []*Union
	Index    map[Key]*Union // of a Struct and of the root

	// Schemas, by position in the order of the first shards that have them, or -1.
	first    int // has this node
	members  int // gave it members
	lacks    int // the first that has the parent but not this node
	types    []ownType
	conflict bool // no type holds all of types without loss

	hidden bool // the column must be named: only excluded shards have it, or it is hidden in all

	partitions []string // at the root: the columns that no file has
}

// An ownType is a type that a node has in some of the schemas.
type ownType struct {
	field   *column.Field
	schemas []int
}

// Unite puts the schemas of all files together: columns in the order of the first schema, then new
// ones as they appear.
func Unite(schemas []*File) *Union {
	root := &Union{field: column.Field{Kind: column.Struct}, members: -1, lacks: -1}
	for i, s := range schemas {
		if s != nil {
			root.mergeMembers(s.Columns, i)
		}
	}
	return root
}

// AddUnseen adds columns that only schemas of files without chosen rows have. Columns of excluded
// files are hidden.
func (u *Union) AddUnseen(schemas []*File, excluded []bool) {
	for i, s := range schemas {
		for k, key := range memberKeys(s.Columns) {
			if u.Index[key] == nil {
				c := newUnionNode(u, s.Columns[k], key, i)
				c.merge(s.Columns[k], i)
				c.lacks = u.members
				c.hidden = c.hidden || excluded != nil && excluded[i]
				u.Index[key] = c
				u.Children = append(u.Children, c)
			}
		}
	}
}

// merge adds what schema s says of a node.
func (u *Union) merge(n *Node, s int) {
	if !slices.Contains(u.paths, n.path) {
		u.paths = append(u.paths, n.path)
	}
	if !u.addType(n.Field, s) {
		u.conflict = true
		return
	}
	u.hidden = u.hidden && n.hidden
	f := *n.Field
	f.Children = nil
	f.Nullable = f.Nullable || f.Kind == column.Null
	if u.field.Kind == column.Null { // no schema gave it a type yet
		f.Nullable = f.Nullable || u.field.Nullable
		u.field = f
		u.mergeChildren(n, s)
		return
	}
	f, ok := uniteTypes(u.field, f)
	if !ok {
		u.conflict = true
		return
	}
	u.field = f
	u.mergeChildren(n, s)
}

// addType notes a type of schema s. ok is false if it cannot be united with an earlier type.
func (u *Union) addType(f *column.Field, s int) (ok bool) {
	if f.Kind == column.Null {
		return true
	}
	ok = true
	for i := range u.types {
		t := &u.types[i]
		if sameType(*t.field, *f) {
			t.schemas = append(t.schemas, s)
			return true
		}
		_, both := uniteTypes(*t.field, *f)
		ok = ok && both
	}
	u.types = append(u.types, ownType{field: f, schemas: []int{s}})
	return ok
}

// odd finds two types that no type holds without loss: the most common type that has such a
// counterpart, and its rarest counterpart. shards is the number of shards with each schema.
func (u *Union) odd(shards []int) (most, odd *ownType) {
	types := make([]*ownType, len(u.types))
	count := map[*ownType]int{}
	for i := range u.types {
		types[i] = &u.types[i]
		for _, s := range u.types[i].schemas {
			count[types[i]] += shards[s]
		}
	}
	slices.SortStableFunc(types, func(a, b *ownType) int { return count[b] - count[a] })
	for i, a := range types {
		for k := len(types) - 1; k > i; k-- {
			if _, ok := uniteTypes(*a.field, *types[k].field); !ok {
				return a, types[k]
			}
		}
	}
	return types[0], types[len(types)-1]
}

func (u *Union) mergeChildren(n *Node, s int) {
	switch n.Field.Kind {
	case column.Struct:
		u.mergeMembers(n.Children, s)
	case column.List, column.Map:
		if len(u.Children) == 0 {
			u.Children = []*Union{newUnionNode(u, n.Children[0], Key{name: n.Children[0].Field.Name}, s)}
		}
		u.Children[0].merge(n.Children[0], s)
	}
}

func newUnionNode(parent *Union, n *Node, key Key, s int) *Union {
	return &Union{parent: parent, field: column.Field{Name: n.Field.Name, Kind: column.Null}, Key: key, first: s, members: -1, lacks: -1, hidden: n.hidden}
}

// mergeMembers adds the members of a struct, or the columns of a file.
func (u *Union) mergeMembers(nodes []*Node, s int) {
	if u.Index == nil {
		u.Index = make(map[Key]*Union, len(nodes))
	}
	seen := make(map[*Union]bool, len(nodes))
	for i, key := range memberKeys(nodes) {
		c := u.Index[key]
		if c == nil {
			c = newUnionNode(u, nodes[i], key, s)
			if u.members >= 0 && u.members < s {
				c.lacks = u.members
			}
			u.Index[key] = c
			u.Children = append(u.Children, c)
		}
		c.merge(nodes[i], s)
		seen[c] = true
	}
	for _, c := range u.Children {
		if !seen[c] && c.lacks < 0 {
			c.lacks = s
		}
	}
	if u.members < 0 {
		u.members = s
	}
}

// memberKeys numbers the occurrences of each name.
func memberKeys(nodes []*Node) []Key {
	keys := make([]Key, len(nodes))
	count := make(map[string]int, len(nodes))
	for i, n := range nodes {
		name := n.Field.Name
		keys[i] = Key{name, count[name]}
		count[name]++
	}
	return keys
}

// Descend shows a node to [column.Find], which goes through structs only.
func (u *Union) Descend() (*column.Field, []*Union) {
	if u.field.Kind != column.Struct {
		return &u.field, nil
	}
	return &u.field, u.Children
}

// Tree is the field of a node with its children.
func (u *Union) Tree() *column.Field {
	f := u.field
	f.Children = nil
	f.Nullable = f.Nullable || u.lacks >= 0
	for _, c := range u.Children {
		f.Children = append(f.Children, c.Tree())
	}
	return &f
}
