package rowgroup

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

// schemaID identifies the schema of a file: equal IDs mean equal schemas.
type schemaID [16]byte

// A rawSchema is the schema of a file as bytes.
type rawSchema struct {
	id    schemaID
	raw   []byte // the footer's list of SchemaElement
	sizes []byte // declared lengths of fixed-size lists; see formatListSizes
}

func newRawSchema(raw, sizes []byte) rawSchema {
	h := sha256.New()
	fmt.Fprintf(h, "%d\n", len(raw))
	h.Write(raw)
	h.Write(sizes)
	return rawSchema{id: schemaID(h.Sum(nil)[:len(schemaID{})]), raw: raw, sizes: sizes}
}

func (s rawSchema) clone() rawSchema {
	return rawSchema{id: s.id, raw: slices.Clone(s.raw), sizes: slices.Clone(s.sizes)}
}

// A fileSchema is the schema of one or many files: all columns as they lie there, before shards are
// united.
type fileSchema struct {
	rawSchema
	columns []*node
	leaves  int
}

// newFileSchema builds the columns from the footer's list of elements.
func newFileSchema(x rawSchema) (*fileSchema, error) {
	elements, leaves, err := parquet.ParseElements(x.raw)
	if err != nil {
		return nil, err
	}
	b := schemaBuilder{elements: elements, next: 1}
	s := &fileSchema{rawSchema: x, leaves: leaves}
	for range elements[0].Children {
		if n := b.column("", 0, 0); n != nil {
			s.columns = append(s.columns, n)
		}
	}
	if lengths := parseListSizes(x.sizes); len(lengths) > 0 {
		setListSizes(s.columns, "", lengths)
	}
	return s, b.err
}

// setListSizes writes the declared lengths into the lists, which it finds by the names of Fields.
func setListSizes(nodes []*node, parent string, lengths map[string]listSize) {
	for _, n := range nodes {
		path := joinPath(parent, n.field.Name)
		if n.field.Kind == column.List {
			n.field.ListSize = lengths[path].size
		}
		setListSizes(n.children, path, lengths)
		if t := lengths[path].tensor; t != nil && holdsTensors(n.field, t) {
			n.field.Tensor = t
		}
	}
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
func (b *schemaBuilder) column(parent string, def, rep int) *node {
	e := b.take()
	path := joinPath(parent, e.Name)
	if e.IsRepeated() {
		return b.list(e.Name, path, b.content(e, path, def+1, rep+1), def, rep)
	}
	if e.IsOptional() {
		def++
	}
	n := b.content(e, path, def, rep)
	if n != nil {
		n.field.Nullable = e.IsOptional()
	}
	return n
}

// content builds an element that was taken as if it were required.
func (b *schemaBuilder) content(e *parquet.Element, path string, def, rep int) *node {
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

func (b *schemaBuilder) structGroup(e *parquet.Element, name, path string, def, rep int) *node {
	n := &node{field: &column.Field{Name: name, Kind: column.Struct}, path: path, def: def, rep: rep}
	for range e.Children {
		if c := b.column(path, def, rep); c != nil {
			n.add(c)
		}
	}
	if len(n.children) == 0 {
		return nil
	}
	return n
}

func (n *node) add(c *node) {
	n.children = append(n.children, c)
	n.field.Children = append(n.field.Children, c.field)
}

// list makes the List node of repeated items under a parent of these levels.
func (b *schemaBuilder) list(name, path string, items *node, def, rep int) *node {
	if items == nil {
		return nil
	}
	n := &node{field: &column.Field{Name: name, Kind: column.List}, path: path, def: def, repDef: def + 1, rep: rep + 1}
	items.field.Name = "element"
	n.add(items)
	return n
}

func (b *schemaBuilder) leaf(e *parquet.Element, path string, def, rep int) *node {
	f, conv, err := leafField(e)
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("column %q: %w", path, err)
	}
	f.Name = e.Name
	l := &leaf{
		index: b.leaves, path: path, typ: Physical(e.Physical), typeLength: int(e.TypeLength),
		maxDef: def, maxRep: rep, convert: conv,
	}
	b.leaves++
	return &node{field: &f, path: path, def: def, rep: rep, leaf: l}
}
