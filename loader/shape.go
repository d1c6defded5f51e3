package loader

import (
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// A Shape describes how the columns of batches are made of the columns of a data set: features
// bound to its schema.
type Shape struct {
	data    *column.Schema
	schema  *column.Schema
	columns []shapeColumn
	fills   []Fill // of the shape's columns, not of its matrices
	boxes   []*boxColumn
}

// A shapeColumn describes how one column of batches is made.
type shapeColumn struct {
	source int              // the data's column
	cast   *rowgroup.Caster // nil: values stay as they are
	matrix *rowgroup.Matrix // nil: it is a single column
	images []*imageColumn   // tensors that replace it, or members of it
	prunes bool             // members are left out, because only other columns are made of them
	stub   *column.Field    // what is gathered for a column with images or boxes: without the images
}

// Shape binds the options to the columns of a data set. The error lists everything that does not
// fit.
func (o Options) Shape(s *column.Schema) (*Shape, error) {
	b := &binder{Features: o.Features, data: s, nan: o.NaN, fills: expandFills(s, o.Fill), stacked: make([]string, len(s.Fields)), kept: make([]bool, len(s.Fields)), divides: o.ImageSplit != nil}
	b.problems.New = newProblem
	b.casts, b.hashes, b.scales = chosen(b, "Cast", b.Cast), chosen(b, "Hash", b.Hash), chosen(b, "Scale", b.Scale)
	var matrices []*rowgroup.Matrix
	for _, stack := range b.Stack {
		if m := b.stack(stack); m != nil {
			matrices = append(matrices, m)
		}
	}
	b.bindImages(o.Images)
	shape := b.shape(matrices)
	b.bindBoxes(shape, o.Boxes)
	return shape, b.problems.Err()
}

// Schema returns the columns of batches.
func (s *Shape) Schema() *column.Schema { return s.schema }

// AsStored returns the shape with unchanged INT96 timestamps as they are stored, for readers that
// support their whole range of years.
func (s *Shape) AsStored() *Shape {
	stored := *s
	stored.schema = &column.Schema{Fields: slices.Clone(s.schema.Fields)}
	for i, c := range s.columns {
		if c.matrix == nil && c.cast == nil && c.stub == nil {
			stored.schema.Fields[i] = rowgroup.Tensors(s.data.Fields[c.source])
		}
	}
	return &stored
}

// fixed returns how many columns of fixed values are gathered one by one.
func (s *Shape) fixed() (n int) {
	for i, f := range s.schema.Fields {
		if f.Kind == column.Fixed && s.columns[i].cast == nil {
			n++
		}
	}
	return n
}

// stacks returns the matrices that loads may make of the data's columns.
func (s *Shape) stacks(data *column.Schema) *rowgroup.Stacks {
	var matrices []*rowgroup.Matrix
	used := make([]bool, len(s.data.Fields))
	for _, c := range s.columns {
		if c.matrix != nil {
			matrices = append(matrices, c.matrix)
		} else {
			used[c.source] = true
		}
	}
	return rowgroup.NewStacks(data, matrices, used[:len(data.Fields)])
}

// wider returns how many bytes larger a row of the shape is than a row of the data, counting only
// fixed values and lists of them.
func (s *Shape) wider(m *rowgroup.Reader) (bytes int64) {
	used := map[int]bool{}
	for i, c := range s.columns {
		f := s.schema.Fields[i]
		switch {
		case c.matrix != nil:
			bytes += int64(f.ListSize * f.Children[0].Width)
		case c.cast != nil:
			bytes += rowBytes(m, f, c.source) - rowBytes(m, s.data.Fields[c.source], c.source)
		}
		for _, image := range c.images {
			bytes += image.rowBytes(m)
		}
		used[c.source] = true
	}
	for i, f := range s.data.Fields {
		if !used[i] { // it is only in matrices
			bytes -= rowBytes(m, f, i)
		}
	}
	return max(0, bytes)
}

// rowBytes returns the mean bytes of a row of a column of fixed values, or of lists of them, and 0
// for other columns.
func rowBytes(m *rowgroup.Reader, f *column.Field, source int) int64 {
	items := int64(1)
	for f.Kind == column.List && f.ListSize > 0 {
		f, items = f.Children[0], items*int64(f.ListSize)
	}
	switch {
	case source >= len(m.Schema().Fields): // a transform adds it
		return 0
	case f.Kind == column.List && f.Children[0].Kind == column.Fixed && !f.Made:
		items = 0
		for g := range m.Groups() {
			items += m.Items(g, source)
		}
		f, items = f.Children[0], items/max(1, m.NumRows())
	}
	if f.Kind != column.Fixed {
		return 0
	}
	return items * int64(f.Width)
}

// Gather gathers the picked rows of column i of the shape into memory from alloc. Validity marks
// the nulls; only matrices may have values other than zero in their slots.
func (s *Shape) Gather(g *rowgroup.Gatherer, i int, blocks []*rowgroup.Block, picks []rowgroup.Pick, alloc column.Alloc) (*column.Array, error) {
	c, f := &s.columns[i], s.schema.Fields[i]
	switch {
	case c.stub != nil:
		return g.Gather(c.source, c.stub, blocks, picks, alloc)
	case c.matrix != nil:
		return g.Stack(c.matrix, blocks, picks, alloc)
	case c.cast != nil:
		return g.Cast(c.source, f, c.cast, blocks, picks, nil, alloc)
	}
	return g.Gather(c.source, f, blocks, picks, alloc)
}

// gatherFixed is Gather of a single column of fixed values, which go into data.
func (s *Shape) gatherFixed(g *rowgroup.Gatherer, i int, blocks []*rowgroup.Block, picks []rowgroup.Pick, data []byte, alloc column.Alloc) (*column.Array, error) {
	c, f := &s.columns[i], s.schema.Fields[i]
	if c.cast != nil {
		return g.Cast(c.source, f, c.cast, blocks, picks, data, alloc)
	}
	return g.GatherFixed(c.source, f, blocks, picks, data, alloc)
}
