package main

import (
	"context"
	"slices"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/rowio"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

// A lookPart is the data set whose rows are shown, or one of several sources.
type lookPart struct {
	name string // "" of the whole
	data *iterable.Dataset
	take func(ctx context.Context, ds *iterable.Dataset, shape *loader.Shape, rows []int64, do func(columns []*column.Array, n int) error) error
}

// partsOf are the parts of a data set, in order.
func (l *look) partsOf(ds *iterable.Dataset) (all []lookPart) {
	part := func(name string, ds *iterable.Dataset, chosen bool) lookPart {
		if chosen {
			return lookPart{name, ds, rowio.TakeChosen}
		}
		return lookPart{name, ds, rowio.Take}
	}
	if len(l.Sources) == 0 {
		return []lookPart{part("", ds, l.ChoosesRows())}
	}
	for i, s := range l.Sources {
		all = append(all, part(s.Name, ds.Alone(i), s.ChoosesRows()))
	}
	return all
}

// sourceNames is the column with the names of several sources, or nil.
type sourceNames struct {
	field *column.Field
}

// sourceColumn is its name.
const sourceColumn = "source"

// namesFor is the column for the rows of the sources, if there are any and no column has its name.
func (l *look) namesFor(s *column.Schema) *sourceNames {
	if len(l.Sources) == 0 || slices.ContainsFunc(s.Fields, func(f *column.Field) bool { return f.Name == sourceColumn }) {
		return nil
	}
	return &sourceNames{&column.Field{Name: sourceColumn, Kind: column.Binary, Type: column.TypeString, Made: true}}
}

// schema has the names before the other columns.
func (c *sourceNames) schema(s *column.Schema) *column.Schema {
	if c == nil {
		return s
	}
	return &column.Schema{Fields: slices.Insert(slices.Clone(s.Fields), 0, c.field)}
}

// of adds the name of a source to n rows.
func (c *sourceNames) of(name string, columns []*column.Array, n int) []*column.Array {
	if c == nil {
		return columns
	}
	a := &column.Array{Field: c.field, Len: n, Offsets: []int32{0}}
	for range n {
		a.Data = append(a.Data, name...)
		a.Offsets = append(a.Offsets, int32(len(a.Data)))
	}
	return slices.Insert(slices.Clone(columns), 0, a)
}
