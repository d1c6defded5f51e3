package rowgroup

import (
	"slices"

	"github.com/shardfeed/shardfeed/column"
)

// A memberKey finds a member of a struct, or a column: names may repeat, and then the k-th is the
// k-th everywhere.
type memberKey struct {
	name string
	nth  int
}

// A unionNode is one node of the schemas of all files, united by name.
type unionNode struct {
	field    column.Field // without children
	key      memberKey
	paths    []string // dotted paths in the files
	parent   *unionNode
	children []*unionNode
	index    map[memberKey]*unionNode // of a Struct and of the root

	// Schemas, by position in the order of the first shards that have them; -1 when there is none.
	first    int // has this node
	members  int // gave it members
	lacks    int // the first that has the parent but not this node
	types    []ownType
	conflict bool // no type holds all of types without loss

	partitions []string // at the root: the columns that no file has
}

// An ownType is a type that a node has in some of the schemas.
type ownType struct {
	field   *column.Field
	schemas []int
}

// unite puts the schemas of all files together: columns in the order of the first schema, then new
// ones as they appear.
func unite(schemas []*fileSchema) *unionNode {
	root := &unionNode{field: column.Field{Kind: column.Struct}, members: -1, lacks: -1}
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
	u.addType(n.field, s)
	f := *n.field
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

func (u *unionNode) addType(f *column.Field, s int) {
	if f.Kind == column.Null {
		return
	}
	for i := range u.types {
		if t := &u.types[i]; sameType(*t.field, *f) {
			t.schemas = append(t.schemas, s)
			return
		}
	}
	u.types = append(u.types, ownType{field: f, schemas: []int{s}})
}

// odd finds two types that no type holds without loss: that of most shards where it is one of them,
// and the rarest that does not go with it. shards is how many have each schema.
func (u *unionNode) odd(shards []int) (most, odd *ownType) {
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

func (u *unionNode) mergeChildren(n *node, s int) {
	switch n.field.Kind {
	case column.Struct:
		u.mergeMembers(n.children, s)
	case column.List, column.Map:
		if len(u.children) == 0 {
			u.children = []*unionNode{newUnionNode(u, n.children[0], memberKey{name: n.children[0].field.Name}, s)}
		}
		u.children[0].merge(n.children[0], s)
	}
}

func newUnionNode(parent *unionNode, n *node, key memberKey, s int) *unionNode {
	return &unionNode{parent: parent, field: column.Field{Name: n.field.Name, Kind: column.Null}, key: key, first: s, members: -1, lacks: -1}
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

// uniteTypes finds the type that holds the values of both without loss; children are not looked at.
// The result is nullable when a or b is, and has a's name.
func uniteTypes(a, b column.Field) (column.Field, bool) {
	a.Nullable = a.Nullable || b.Nullable
	if a.ListSize != b.ListSize {
		a.ListSize, b.ListSize = 0, 0
	}
	switch {
	case b.Kind == column.Null:
		a.Nullable = true
		return a, true
	case sameType(a, b):
		return a, true
	case a.Kind != b.Kind:
		return a, false
	case a.Type == column.TypeFloat32 && b.Type == column.TypeFloat64, a.Type == column.TypeFloat64 && b.Type == column.TypeFloat32:
		a.Type, a.Width = column.TypeFloat64, 8
		return a, true
	case a.Type == column.TypeDecimal && b.Type == column.TypeDecimal && a.Scale == b.Scale:
		a.Precision = max(a.Precision, b.Precision)
		a.Width = max(a.Width, b.Width)
		return a, true
	}
	t, ok := uniteInts(a.Type, b.Type)
	if ok {
		a.Type, a.Width = t, intSize(t)
	}
	return a, ok
}

func sameType(a, b column.Field) bool {
	return a.Kind == b.Kind && a.Type == b.Type && a.Width == b.Width && a.Unit == b.Unit && a.UTC == b.UTC &&
		a.Precision == b.Precision && a.Scale == b.Scale
}

// uniteInts finds the smallest integer type for both; there is none for uint64 and a signed one.
func uniteInts(a, b column.Type) (column.Type, bool) {
	if !isInt(a) || !isInt(b) {
		return column.TypeNone, false
	}
	if isUnsigned(a) == isUnsigned(b) {
		return max(a, b), true
	}
	if isUnsigned(b) {
		a, b = b, a
	}
	// a is unsigned: its signed type of twice the width holds it
	return max(a-column.TypeUint8+column.TypeInt16, b), a != column.TypeUint64
}

func isInt(t column.Type) bool      { return t >= column.TypeInt8 && t <= column.TypeUint64 }
func isUnsigned(t column.Type) bool { return t >= column.TypeUint8 && t <= column.TypeUint64 }

// intSize is the bytes of an integer type; the unsigned ones follow the four signed ones.
func intSize(t column.Type) int { return 1 << ((t - column.TypeInt8) % 4) }

// convertTo says how a leaf whose own field is from becomes the united field to.
func (l *leaf) convertTo(from, to *column.Field) convert {
	switch {
	case from.Kind == column.Null && to.Kind != column.Null:
		return convertNull
	case from.Type == column.TypeFloat32 && to.Type == column.TypeFloat64:
		return convertWidenFloat
	case from.Type == column.TypeDecimal && from.Width != to.Width:
		return convertDecimal
	case !isInt(from.Type) || from.Type == to.Type:
		return l.convert
	}
	switch {
	case to.Width == 8 && isUnsigned(from.Type):
		return convertWidenUint
	case to.Width == 8:
		return convertWidenInt
	case to.Width == 4:
		return convertNone
	}
	return convertNarrow
}
