package schema

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

// ID identifies the schema of a file: equal IDs mean equal schemas.
type ID [16]byte

// A Bytes is the schema of a file as bytes.
type Bytes struct {
	ID       ID
	Elements []byte // the footer's list of SchemaElement
	Declared []byte // of columns, beyond parquet's types; see formatDeclared
}

func NewBytes(raw, declared []byte) Bytes {
	h := sha256.New()
	fmt.Fprintf(h, "%d\n", len(raw))
	h.Write(raw)
	h.Write(declared)
	return Bytes{ID: ID(h.Sum(nil)[:len(ID{})]), Elements: raw, Declared: declared}
}

func (s Bytes) Clone() Bytes {
	return Bytes{ID: s.ID, Elements: slices.Clone(s.Elements), Declared: slices.Clone(s.Declared)}
}

// A File is the schema of one or many files: all columns in the files' own types, before shards are
// united.
type File struct {
	Bytes
	Columns []*Node
	Leaves  int
	HasIDs  bool // the writer numbered fields
	Deletes bool // they are columns of a file that lists deleted rows
}

// NewFile builds the columns from the footer's list of elements.
func NewFile(x Bytes) (*File, error) {
	elements, leaves, err := parquet.ParseElements(x.Elements)
	if err != nil {
		return nil, err
	}
	b := schemaBuilder{elements: elements, next: 1}
	s := &File{Bytes: x, Leaves: leaves, Deletes: parquet.ListsPositions(elements)}
	s.HasIDs = slices.ContainsFunc(elements, func(e parquet.Element) bool { return e.FieldID != 0 })
	for range elements[0].Children {
		if n := b.column("", 0, 0); n != nil {
			s.Columns = append(s.Columns, n)
		}
	}
	if len(x.Declared) > 0 {
		parseDeclared(x.Declared).set(s.Columns, "")
	}
	return s, b.err
}

// holdsTensors reports whether a column is lists of all items of tensors of this shape, or such
// lists of lists, of fixed values.
func holdsTensors(f *column.Field, t *column.Tensor) bool {
	if f.Kind == column.List && f.Children[0].Kind == column.Fixed && f.ListSize == itemsOf(t.Shape) {
		return true
	}
	for _, size := range t.Shape {
		if f.Kind != column.List || f.ListSize != size {
			return false
		}
		f = f.Children[0]
	}
	return f.Kind == column.Fixed && t.Order == nil
}

// schemaBuilder turns the pre-order list of elements into nodes. A group without any leaf holds no
// values and is left out: its node is nil.
type schemaBuilder struct {
	elements []parquet.Element
	next     int
	leaves   int
	err      error
}

func (b *schemaBuilder) take() *parquet.Element {
	e := &b.elements[b.next]
	b.next++
	return e
}

func joinPath(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}

// column builds the next element and what is below it, with its own repetition, under a parent of
// these levels.
func (b *schemaBuilder) column(parent string, def, rep int) *Node {
	e := b.take()
	path := joinPath(parent, e.Name)
	var n *Node
	if e.IsRepeated() {
		n = b.list(e.Name, path, b.content(e, path, def+1, rep+1), def, rep)
	} else {
		if e.IsOptional() {
			def++
		}
		if n = b.content(e, path, def, rep); n != nil {
			n.Field.Nullable = e.IsOptional()
		}
	}
	if n != nil {
		n.id = e.FieldID
	}
	return n
}

// content builds an element that was taken as if it were required.
func (b *schemaBuilder) content(e *parquet.Element, path string, def, rep int) *Node {
	switch {
	case !e.IsGroup():
		return b.leaf(e, path, def, rep)
	case e.IsMap() && b.isMapGroup(e):
		if b.elements[b.next].Children == 1 {
			return b.listGroup(e, path, def, rep)
		}
		return b.mapGroup(e, path, def, rep)
	case e.IsList() && b.isListGroup(e):
		return b.listGroup(e, path, def, rep)
	}
	return b.structGroup(e, e.Name, path, def, rep)
}

func (b *schemaBuilder) structGroup(e *parquet.Element, name, path string, def, rep int) *Node {
	n := &Node{Field: &column.Field{Name: name, Kind: column.Struct}, path: path, Def: def, Rep: rep}
	for range e.Children {
		if c := b.column(path, def, rep); c != nil {
			n.add(c)
		}
	}
	if len(n.Children) == 0 {
		return nil
	}
	return n
}

func (n *Node) add(c *Node) {
	n.Children = append(n.Children, c)
	n.Field.Children = append(n.Field.Children, c.Field)
}

// list makes the List node of repeated items under a parent of these levels.
func (b *schemaBuilder) list(name, path string, items *Node, def, rep int) *Node {
	if items == nil {
		return nil
	}
	n := &Node{Field: &column.Field{Name: name, Kind: column.List}, path: path, Def: def, RepDef: def + 1, Rep: rep + 1}
	items.Field.Name = "element"
	n.add(items)
	return n
}

func (b *schemaBuilder) leaf(e *parquet.Element, path string, def, rep int) *Node {
	f, conv, err := leafField(e)
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("column %q: %w", path, err)
	}
	f.Name = e.Name
	l := &Leaf{
		Index: b.leaves, Path: path, Type: Physical(e.Physical), TypeLength: int(e.TypeLength),
		MaxDef: def, MaxRep: rep, Convert: conv,
	}
	b.leaves++
	return &Node{Field: &f, path: path, Def: def, Rep: rep, Leaf: l}
}
