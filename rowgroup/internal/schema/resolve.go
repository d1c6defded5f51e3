package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/table"
)

// A resolver gives files the columns of a table.
type resolver struct {
	fields   []table.Field
	given    []*Given // by field; nil for one that is constant in no shard
	first    []int64  // see Table.FirstRows
	asStored bool     // see Table.AsStored
}

// resolve returns the schema of files with the names, the order and the types of the table.
func (r *resolver) resolve(s *File, constant []bool) (*File, error) {
	c := *s
	c.Columns = nil
	for i := range r.fields {
		f := &r.fields[i]
		if constant[i] {
			n := absent(f.Column, f.Column.Name)
			n.Given = r.given[i]
			c.Columns = append(c.Columns, n)
			continue
		}
		if f.RowIDs {
			n, err := r.rowIDs(s, f)
			if err != nil {
				return nil, err
			}
			c.Columns = append(c.Columns, n)
			continue
		}
		if !s.HasIDs && f.ID != 0 && len(f.Names) == 0 && f.Column.Kind != column.Null && !r.asStored {
			return nil, &block.Error{
				Op: "schema", RowGroup: -1, Column: f.Column.Name, Page: -1, Err: errNoIDs,
				Hint: "give the table a name mapping (schema.name-mapping.default), or rewrite the file",
			}
		}
		n, err := r.node(s, s.find(s.Columns, f), f, "", false)
		if err != nil {
			return nil, err
		}
		if n != nil {
			c.Columns = append(c.Columns, n)
		}
	}
	return &c, nil
}

// find returns the node of a field among the members of a struct or the columns, or nil.
func (s *File) find(nodes []*Node, f *table.Field) *Node {
	if s.HasIDs && f.ID != 0 {
		if i := slices.IndexFunc(nodes, func(n *Node) bool { return n.id == f.ID }); i >= 0 {
			return nodes[i]
		}
		return nil
	}
	for _, name := range f.Names {
		if i := slices.IndexFunc(nodes, func(n *Node) bool { return n.Field.Name == name }); i >= 0 {
			return nodes[i]
		}
	}
	if !f.AnyCase {
		return nil
	}
	for _, name := range f.Names {
		if i := slices.IndexFunc(nodes, func(n *Node) bool { return strings.EqualFold(n.Field.Name, name) }); i >= 0 {
			return nodes[i]
		}
	}
	return nil
}

// node is the node of a field below a path, made of the file's own, which may be nil. pair is true
// for the struct of a map's keys and values.
func (r *resolver) node(s *File, n *Node, f *table.Field, parent string, pair bool) (*Node, error) {
	path := joinPath(parent, f.Column.Name)
	if n == nil {
		return r.lacking(f, path)
	}
	if n.Field.Kind == column.Null && !r.asStored {
		n = absent(f.Column, path)
		n.Field.Nullable = true
		return n, nil
	}
	field := *n.Field
	field.Name, field.Children = f.Column.Name, nil
	c := *n
	c.Field, c.path = &field, path
	if !r.asStored {
		if err := c.retype(f.Column); err != nil {
			return nil, &block.Error{Op: "schema", RowGroup: -1, Column: path, Page: -1, Err: err, Hint: "read another snapshot of the table, or leave the column out"}
		}
	}
	if n.Leaf != nil || len(f.Parts) == 0 {
		field.Children = n.Field.Children
		return &c, nil
	}
	return r.parts(s, n, &c, f, pair || n.Field.Kind != column.Struct)
}

// rowIDs is the node of a column of row IDs. A file has the IDs of rows that came from other files.
func (r *resolver) rowIDs(s *File, f *table.Field) (*Node, error) {
	field := *f.Column
	n := &Node{Field: &field, path: field.Name}
	if own := s.find(s.Columns, f); own != nil && own.Field.Kind != column.Null {
		var err error
		if n, err = r.node(s, own, f, "", false); err != nil {
			return nil, err
		}
		n.Field.Nullable = field.Nullable
	}
	n.Numbers, n.hidden = &Numbers{IDs: true, first: r.first}, true
	return n, nil
}

// parts gives a node its children: the fields of a struct; or by their places the items of a list
// or map, or a key and value.
func (r *resolver) parts(s *File, n, c *Node, f *table.Field, byPlace bool) (*Node, error) {
	c.Children, c.stored = nil, n
	for i := range f.Parts {
		part, own, parent := &f.Parts[i], (*Node)(nil), c.path
		if !byPlace {
			own = s.find(n.Children, part)
		} else {
			own = n.Children[min(i, len(n.Children)-1)]
			part = &table.Field{Column: own.Field, Parts: part.Parts}
			if !r.asStored {
				part.Column = named(f.Parts[i].Column, own.Field.Name)
			}
		}
		child, err := r.node(s, own, part, parent, n.Field.Kind == column.Map)
		if err != nil {
			return nil, err
		}
		if child != nil {
			c.add(child)
		}
	}
	if len(c.Children) == 0 {
		return nil, nil // nothing of it is in the file
	}
	return c, nil
}

// named is a field under the name that files have for items.
func named(f *column.Field, name string) *column.Field {
	c := *f
	c.Name = name
	return &c
}

// lacking is the node of a field that a file does not have.
func (r *resolver) lacking(f *table.Field, path string) (*Node, error) {
	switch {
	case r.asStored:
		return nil, nil
	case f.Default != nil && !f.Default.Null:
		field := *f.Column
		return &Node{Field: &field, path: path, Partition: &PartitionValue{Data: f.Default.Data}}, nil
	case !f.Column.Nullable:
		return nil, &block.Error{
			Op: "schema", RowGroup: -1, Column: path, Page: -1,
			Err:  fmt.Errorf("%w here; the table requires it and has no default for it", ErrMissingColumn),
			Hint: "leave the column out, or read the file with what wrote the table",
		}
	}
	return absent(f.Column, path), nil
}

// absent is the node of a field, and those below, without values in the file.
func absent(f *column.Field, path string) *Node {
	field := *f
	field.Children = nil
	n := &Node{Field: &field, path: path, Missing: true}
	for _, child := range f.Children {
		n.add(absent(child, joinPath(path, child.Name)))
	}
	return n
}

// retype gives a node the type of the table's field, which must hold all values of the file's.
func (n *Node) retype(to *column.Field) error {
	own := *n.Field
	field := n.Field
	field.Nullable = own.Nullable || to.Nullable
	if own.Kind != column.Fixed && own.Kind != column.Binary {
		if own.Kind != to.Kind {
			return mismatch(&own, to)
		}
		return nil
	}
	if !promotes(own, *to) {
		return mismatch(&own, to)
	}
	field.Kind, field.Type, field.Width, field.Unit, field.UTC = to.Kind, to.Type, to.Width, to.Unit, to.UTC
	field.Precision, field.Scale = to.Precision, to.Scale
	n.inFile = &own
	return nil
}

func mismatch(own, to *column.Field) error {
	return fmt.Errorf("%w: its type is %s here and %s in the table", errTableType, own, to)
}

var errNoIDs = errors.New("the file has no field IDs, and the table has no names for them")

var errTableType = errors.New("the table's type does not hold the file's")

// promotes reports whether values of a file's type are values of the table's. Writers annotate
// bytes in different ways, and timestamps of INT96 are as fine as the reader wants.
func promotes(own, to column.Field) bool {
	if own.Kind == column.Binary && to.Kind == column.Binary && isBytes(own) && isBytes(to) {
		return true
	}
	if own.Type == column.TypeInt96 && to.Type == column.TypeTimestamp {
		return true
	}
	if isBytes(own) && isBytes(to) {
		return own.Kind == to.Kind && own.Width == to.Width
	}
	both, ok := uniteTypes(own, to)
	return ok && both.Kind == to.Kind && both.Type == to.Type && both.Unit == to.Unit && both.UTC == to.UTC &&
		both.Precision == to.Precision && both.Scale == to.Scale
}
