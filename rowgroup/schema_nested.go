package rowgroup

import "github.com/shardfeed/shardfeed/column"

// The rules by which lists and maps are found are those of the format's LogicalTypes document,
// "Nested Types", with its rules of backward compatibility. Groups whose annotation does not fit
// their shape are read as plain structs.

// isListGroup says whether a group has the shape of a list: one repeated member.
func (b *schemaBuilder) isListGroup(e *element) bool {
	return e.children == 1 && b.elements[b.next].isRepeated()
}

// isMapGroup says whether a group has the shape of a map: one repeated group of a key and maybe a
// value.
func (b *schemaBuilder) isMapGroup(e *element) bool {
	if !b.isListGroup(e) {
		return false
	}
	pairs := &b.elements[b.next]
	return pairs.isGroup() && (pairs.children == 1 || pairs.children == 2)
}

// listGroup builds a group annotated as a list, or a map that has keys alone, which is a list of
// keys.
func (b *schemaBuilder) listGroup(e *element, path string, def, rep int) *node {
	r := b.take()
	inner := joinPath(path, r.name)
	if b.isItem(e, r) {
		return b.list(e.name, path, b.content(r, inner, def+1, rep+1), def, rep)
	}
	return b.list(e.name, path, b.column(inner, def+1, rep+1), def, rep)
}

// isItem says whether r, the repeated member of the list e, is the item itself (two levels, as old
// writers have it) and not a wrapper around it (three levels). The element after r is next.
func (b *schemaBuilder) isItem(e, r *element) bool {
	switch {
	case !r.isGroup() || r.children != 1:
		return true
	case b.elements[b.next].isRepeated():
		return true
	case e.isMap():
		return false
	}
	return r.name == "array" || r.name == e.name+"_tuple"
}

// mapGroup builds a group annotated as a map of keys and values.
func (b *schemaBuilder) mapGroup(e *element, path string, def, rep int) *node {
	r := b.take()
	inner := joinPath(path, r.name)
	key, value := b.column(inner, def+1, rep+1), b.column(inner, def+1, rep+1)
	switch {
	case key == nil:
		return b.list(e.name, path, value, def, rep)
	case value == nil:
		return b.list(e.name, path, key, def, rep)
	}
	key.field.Name, value.field.Name = "key", "value"
	pair := &node{field: &column.Field{Name: "key_value", Kind: column.Struct}, path: inner, def: def + 1, rep: rep + 1}
	pair.add(key)
	pair.add(value)
	n := &node{field: &column.Field{Name: e.name, Kind: column.Map}, path: path, def: def, repDef: def + 1, rep: rep + 1}
	n.add(pair)
	return n
}
