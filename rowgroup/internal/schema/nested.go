package schema

import (
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

// Lists and maps are found by the rules of the format's LogicalTypes document, "Nested Types",
// including its rules of backward compatibility. Groups whose annotation does not fit their shape
// are read as plain structs.

// isListGroup reports whether a group has the shape of a list: one repeated member.
func (b *schemaBuilder) isListGroup(e *parquet.Element) bool {
	return e.Children == 1 && b.elements[b.next].IsRepeated()
}

// isMapGroup reports whether a group has the shape of a map: one repeated group of a key and maybe
// a value.
func (b *schemaBuilder) isMapGroup(e *parquet.Element) bool {
	if !b.isListGroup(e) {
		return false
	}
	pairs := &b.elements[b.next]
	return pairs.IsGroup() && (pairs.Children == 1 || pairs.Children == 2)
}

// listGroup builds a group annotated as a list, or a map with only keys, which is a list of keys.
func (b *schemaBuilder) listGroup(e *parquet.Element, path string, def, rep int) *Node {
	r := b.take()
	inner := joinPath(path, r.Name)
	if b.isItem(e, r) {
		return b.list(e.Name, path, b.content(r, inner, def+1, rep+1), def, rep)
	}
	return b.list(e.Name, path, b.column(inner, def+1, rep+1), def, rep)
}

// isItem reports whether r, the repeated member of the list e, is the item itself (two levels, as
// old writers have it) and not a wrapper around it (three levels). The element after r is next.
func (b *schemaBuilder) isItem(e, r *parquet.Element) bool {
	switch {
	case !r.IsGroup() || r.Children != 1:
		return true
	case b.elements[b.next].IsRepeated():
		return true
	case e.IsMap():
		return false
	}
	return r.Name == "array" || r.Name == e.Name+"_tuple"
}

// mapGroup builds a group annotated as a map of keys and values.
func (b *schemaBuilder) mapGroup(e *parquet.Element, path string, def, rep int) *Node {
	r := b.take()
	inner := joinPath(path, r.Name)
	key, value := b.column(inner, def+1, rep+1), b.column(inner, def+1, rep+1)
	switch {
	case key == nil:
		return b.list(e.Name, path, value, def, rep)
	case value == nil:
		return b.list(e.Name, path, key, def, rep)
	}
	key.Field.Name, value.Field.Name = "key", "value"
	pair := &Node{Field: &column.Field{Name: "key_value", Kind: column.Struct}, path: inner, Def: def + 1, Rep: rep + 1}
	pair.add(key)
	pair.add(value)
	n := &Node{Field: &column.Field{Name: e.Name, Kind: column.Map}, path: path, Def: def, RepDef: def + 1, Rep: rep + 1}
	n.add(pair)
	return n
}
