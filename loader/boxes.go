package loader

import (
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images/boxes"
	"github.com/shardfeed/shardfeed/internal/option"
)

// A boxColumn is a column of boxes or points that follow the images of another one. A row has a
// list of boxes of some numbers each, one list with the numbers of all, a list of structs with a
// box each, or a single box.
type boxColumn struct {
	listPlace
	options boxes.Options
	image   *imageColumn
	inner   []int         // children that lead from the column to the list of the numbers of a box, or of a row's if grouped
	grouped bool          // a list has the numbers of all boxes of a row
	field   *column.Field // of the column in batches
	drops   []listPlace   // lists that lose the items of dropped boxes: the boxes' own first
}

// A listPlace is a list within a column, found by a name.
type listPlace struct {
	name   string
	column int   // of the shape
	path   []int // children that lead from there to the list
}

// in returns the list within a column's array.
func (p *listPlace) in(a *column.Array) *column.Array { return arrayAt(a, p.path) }

func arrayAt(a *column.Array, path []int) *column.Array {
	for _, child := range path {
		a = a.Children[child]
	}
	return a
}

func fieldAt(f *column.Field, path []int) *column.Field {
	for _, child := range path {
		f = f.Children[child]
	}
	return f
}

// validateBoxes reports problems of boxes that do not depend on the columns.
func validateBoxes(p *option.List, all map[string]boxes.Options) {
	for _, name := range sortedKeys(all) {
		field := fmt.Sprintf("Boxes[%q]", name)
		if name == "" {
			p.Add(field, "must name a column, got an empty name")
		}
		invalid(p, field, all[name].Validate())
	}
}

// bindBoxes finds the columns of boxes in the shape, which gets their new fields.
func (b *binder) bindBoxes(s *Shape, all map[string]boxes.Options) {
	for _, name := range sortedKeys(all) {
		m, field := &boxColumn{options: all[name], image: b.leadOf(all[name].Of)}, fmt.Sprintf("Boxes[%q]", name)
		if m.image == nil {
			b.problems.Add(field, "does not apply: it is of %q, which must be a column of {Images} with one picture a row", m.options.Of)
			continue
		}
		if m.image.views > 1 {
			b.problems.Add(field, "does not apply: it is of %q, which has %d views, each with a crop of its own; boxes follow one", m.options.Of, m.image.views)
			continue
		}
		if err := m.image.options.CanLead(); err != nil {
			b.problems.Add(field, "does not apply: it is of %q: %v", m.options.Of, err)
			continue
		}
		if err := s.bindBoxes(m, name); err != nil {
			b.problems.Join(newProblem(field, "does not apply: "+err.Error()))
			continue
		}
		source := s.columns[m.column].source
		for _, other := range b.others(source, name) {
			b.problems.Add(field, "contradicts {"+other+"}, which has the column too; leave one of the two out")
		}
	}
}

// leadOf returns the column of images of a name, with one picture a row, or nil.
func (b *binder) leadOf(name string) *imageColumn {
	for _, all := range b.images {
		for _, m := range all {
			if m.name == name && m.list == nil && m.options.Array == nil {
				return m
			}
		}
	}
	return nil
}

func (s *Shape) bindBoxes(m *boxColumn, name string) (err error) {
	if m.listPlace, err = s.listNamed(name); err != nil {
		return err
	}
	whole := s.schema.Fields[m.column]
	if err := m.bind(whole); err != nil {
		return err
	}
	for _, name := range m.options.DropWith {
		p, err := s.listNamed(name)
		if err != nil {
			return fmt.Errorf("{DropWith} %q: %w", name, err)
		}
		m.drops = append(m.drops, p)
	}
	for _, p := range m.drops {
		if s.dropped(p) {
			return fmt.Errorf("the items of column %q are dropped with other boxes already", p.name)
		}
		if f := fieldAt(s.schema.Fields[p.column], p.path); f.ListSize > 0 || s.columns[p.column].images != nil {
			return fmt.Errorf("items are dropped from ragged lists, and column %q is %v; give {KeepAll}", p.name, f)
		}
	}
	c := &s.columns[m.column]
	if c.stub == nil {
		c.stub = whole
	}
	s.schema.Fields[m.column] = m.field
	s.boxes = append(s.boxes, m)
	return nil
}

// dropped reports whether other boxes drop the items of a list.
func (s *Shape) dropped(p listPlace) bool {
	return slices.ContainsFunc(s.boxes, func(m *boxColumn) bool {
		return slices.ContainsFunc(m.drops, func(q listPlace) bool { return q.column == p.column && slices.Equal(q.path, p.path) })
	})
}

// listNamed finds a list: a column, or a member of structs or of lists of structs.
func (s *Shape) listNamed(name string) (p listPlace, err error) {
	f, err := column.Find(s.schema.Fields, name, func(f *column.Field) (*column.Field, []*column.Field) {
		return f, structIn(f).Children
	})
	switch {
	case err != nil:
		return p, errMany
	case f == nil || f.Made:
		return p, notRead(name, s.schema.Fields)
	case f.Kind != column.List:
		return p, fmt.Errorf("column %q is %v, and must be a list", name, f)
	}
	p.name = name
	for i, root := range s.schema.Fields {
		if path, ok := route(root, f); ok {
			p.column, p.path = i, path
		}
	}
	return p, nil
}

// structIn returns a struct, or the structs of a list, or a field without children.
func structIn(f *column.Field) *column.Field {
	items := f
	if f.Kind == column.List {
		items = f.Children[0]
	}
	if items.Kind != column.Struct {
		return &column.Field{}
	}
	return items
}

// route returns the children that lead from a field to another one, by structs and lists of them.
func route(from, to *column.Field) (path []int, ok bool) {
	if from == to {
		return nil, true
	}
	var first []int
	if from.Kind == column.List {
		first = []int{0}
	}
	for i, c := range structIn(from).Children {
		if below, ok := route(c, to); ok {
			return slices.Concat(first, []int{i}, below), true
		}
	}
	return nil, false
}

// bind finds the numbers of a column's boxes, and makes the column's field in batches.
func (m *boxColumn) bind(whole *column.Field) error {
	list, k := fieldAt(whole, m.path), m.options.Format.Numbers()
	leaf := list.Innermost()
	if leaf.Kind != column.Fixed || floatsOf[leaf.Type] == nil {
		return fmt.Errorf("column %q is %v; boxes are numbers", m.name, list)
	}
	numbers := &column.Field{Name: leaf.Name, Kind: column.Fixed, Type: column.TypeFloat32, Width: 4}
	if m.inner = m.path; !m.options.Regular() {
		m.field = replaced(whole, m.path, withItems(list, numbers))
		return nil
	}
	objects, several := structs(whole, m.path)
	switch alone := list.Children[0] == leaf; {
	case several || alone && list.ListSize == k:
	case alone:
		objects, several, m.grouped = m.path, true, true
	default:
		objects, several, m.inner = m.path, true, slices.Concat(m.path, []int{0})
	}
	inner := fieldAt(whole, m.inner)
	if n := inner.ListSize; inner.Children[0] != leaf || n%k != 0 || n > k && !m.grouped {
		return fmt.Errorf("column %q is %v; boxes are %d numbers each", m.name, list, k)
	}
	by := &column.Field{Name: inner.Name, Kind: column.List, ListSize: k, Children: []*column.Field{numbers}}
	if m.grouped {
		all := *inner
		all.ListSize, all.Tensor, all.Children, by.Name = inner.ListSize/k, nil, []*column.Field{by}, leaf.Name
		by = &all
	}
	m.field = replaced(whole, m.inner, by)
	if !m.options.KeepAll {
		if !several {
			return fmt.Errorf("column %q has one box a row, which cannot be dropped; give {KeepAll}", m.name)
		}
		m.drops = []listPlace{{name: m.name, column: m.column, path: objects}}
	}
	return nil
}

// structs returns the way to a list of structs that a path leads through.
func structs(f *column.Field, path []int) (list []int, ok bool) {
	for i := range path {
		if fieldAt(f, path[:i]).Kind == column.List {
			return path[:i:i], true
		}
	}
	return nil, false
}
