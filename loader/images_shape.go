package loader

import (
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/column"
)

// spent replaces a member of a struct in batches that have results of its files instead. It is not
// gathered.
var spent = &column.Field{Kind: column.Null}

// shapeOf is a column of the data with tensors in place of the files, and without files of which
// only results with names of their own are made. It is nil if nothing is left.
func shapeOf(i int, f *column.Field, all []*imageColumn) (*column.Field, shapeColumn) {
	c := shapeColumn{source: i, stub: f}
	for _, m := range all {
		if m.added {
			f, c.stub = replaced(f, m.path, spent), replaced(c.stub, m.path, spent)
			c.prunes = true
		}
	}
	for _, m := range all {
		switch {
		case m.added:
		case m.list != nil:
			c.images = append(c.images, m)
			return m.list, c
		default:
			c.images = append(c.images, m)
			f, c.stub = replaced(f, m.path, m.field), replaced(c.stub, m.path, &column.Field{Name: m.field.Name, Kind: column.Null})
		}
	}
	return pruned(f), c
}

// replaced is a field with another one at a path of members.
func replaced(f *column.Field, path []int, by *column.Field) *column.Field {
	if len(path) == 0 {
		return by
	}
	to := *f
	to.Children = slices.Clone(f.Children)
	to.Children[path[0]] = replaced(f.Children[path[0]], path[1:], by)
	return &to
}

// isSpent reports whether a field is spent, or has no other members.
func isSpent(f *column.Field) bool {
	if f.Kind != column.Struct {
		return f == spent
	}
	return len(f.Children) > 0 && !slices.ContainsFunc(f.Children, func(c *column.Field) bool { return !isSpent(c) })
}

// pruned is a field without members that are spent; nil if it is spent.
func pruned(f *column.Field) *column.Field {
	if isSpent(f) {
		return nil
	}
	if f.Kind != column.Struct {
		return f
	}
	to := *f
	to.Children = nil
	for _, c := range f.Children {
		if c = pruned(c); c != nil {
			to.Children = append(to.Children, c)
		}
	}
	return &to
}

// fit makes the array of a column's stub an array of the column, without members that are spent.
func fit(a *column.Array, f *column.Field) {
	if f.Kind != column.Struct {
		return
	}
	a.Children = slices.DeleteFunc(a.Children, func(c *column.Array) bool { return isSpent(c.Field) })
	a.Field = f
	for i, c := range a.Children {
		fit(c, f.Children[i])
	}
}

// addResults adds the images that have names of their own.
func (b *binder) addResults(s *Shape) {
	taken := map[string]bool{}
	for _, f := range s.schema.Fields {
		taken[f.Name] = true
	}
	for i := range b.data.Fields {
		for _, m := range b.images[i] {
			if size, box := geometryNames(m.name); m.options.Geometry {
				taken[size], taken[box] = true, true
			}
		}
	}
	for i := range b.data.Fields {
		for _, m := range b.images[i] {
			if !m.added {
				continue
			}
			if taken[m.name] {
				b.problems.Add(fmt.Sprintf("Images[%q]", m.name), "must have another name: the batch has a column %q already", m.name)
			}
			s.add(m.field, shapeColumn{source: i, images: []*imageColumn{m}, stub: m.field})
		}
	}
}
