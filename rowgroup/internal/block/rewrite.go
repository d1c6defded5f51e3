package block

import (
	"slices"

	"github.com/shardfeed/shardfeed/column"
)

// rewritten applies change to a field or, if it leaves the field alone, to the field's children.
// Only what changes is copied.
func rewritten(f *column.Field, change func(*column.Field) *column.Field) *column.Field {
	if c := change(f); c != f {
		return c
	}
	for i, child := range f.Children {
		if t := rewritten(child, change); t != child {
			c := *f
			c.Children = slices.Clone(f.Children)
			c.Children[i] = t
			f = &c
		}
	}
	return f
}
