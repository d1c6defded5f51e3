package schema

import (
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
)

// A NeededType is the type that a user's options need of a column, or of the items of its lists, if
// the shards do not give it a type. nil needs no type.
type NeededType struct {
	Empty *column.Field // where no shard has values
	Mixed *column.Field // where shards have types that no type holds without loss; all of them are cast
}

// Settle gives columns and members of structs the types that options need of them.
func (u *Union) Settle(needed func(path string) NeededType, path string) {
	if needed == nil {
		return
	}
	for _, c := range u.Children {
		own := joinPath(path, c.Key.name)
		c.adopt(needed(own))
		if c.field.Kind == column.Struct && !c.conflict {
			c.Settle(needed, own)
		}
	}
}

// adopt sets the type of columns that have no type in the shards.
func (u *Union) adopt(t NeededType) {
	switch {
	case u.field.Kind == column.Null && len(u.types) == 0:
		if t.Empty != nil {
			u.become(t.Empty)
		}
	case u.conflict:
		if t.Mixed != nil && u.castable(t.Mixed) {
			f := retyped(u.field, t.Mixed.Type, t.Mixed.Width)
			f.Unit = t.Mixed.Unit
			u.field, u.conflict = f, false
		}
	case u.field.Kind == column.List && len(u.Children) == 1:
		if t.Empty != nil && t.Empty.Kind == column.List {
			t.Empty = t.Empty.Children[0]
		}
		u.Children[0].adopt(t)
	}
}

// castable reports whether all types of the shards become f by a cast.
func (u *Union) castable(f *column.Field) bool {
	return !slices.ContainsFunc(u.types, func(t ownType) bool {
		if t.field.Kind != column.Fixed {
			return true
		}
		_, err := block.NewCaster(t.field, block.Cast{To: f.Type, Unit: f.Unit})
		return err != nil
	})
}

// become makes a node without values one of a type.
func (u *Union) become(f *column.Field) {
	name := u.field.Name
	u.field = *f
	u.field.Name, u.field.Children, u.field.Nullable = name, nil, true
	for _, c := range f.Children {
		child := &Union{parent: u, field: column.Field{Name: elementName(c.Name)}, Key: Key{name: elementName(c.Name)}, first: u.first, members: -1, lacks: -1}
		child.become(c)
		u.Children = append(u.Children, child)
	}
}

// elementName is the name of list items in types that do not name them.
func elementName(name string) string {
	if name == "" {
		return "element"
	}
	return name
}
