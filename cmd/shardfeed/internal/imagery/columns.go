package imagery

import (
	"context"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/rowio"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// Columns are the fields of a schema, members of structs and items of lists among them, whose
// values are images.
type Columns map[*column.Field]bool

// SniffedRows is the number of rows read to find the columns that hold images.
const SniffedRows = 8

// Find reads the first rows of a data set, or of each source of a mixture. One image makes a
// column one of images.
func Find(ctx context.Context, all []*iterable.Dataset, shape *loader.Shape) (Columns, error) {
	found := Columns{}
	var rows [SniffedRows]int64
	for i := range rows {
		rows[i] = int64(i)
	}
	for _, ds := range all {
		first := rows[:min(SniffedRows, ds.Manifest().NumRows())]
		err := rowio.Take(ctx, ds, shape, first, func(columns []*column.Array, _ int) error {
			for _, a := range columns {
				found.Note(a)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Note looks at the values of a column and its children.
func (c Columns) Note(a *column.Array) {
	for _, child := range a.Children {
		c.Note(child)
	}
	if a.Field.Type != column.TypeBinary || a.Field.Kind != column.Binary {
		return
	}
	for i := range a.Len {
		if a.IsNull(i) {
			continue
		}
		if h, _ := codec.ReadHeader(rowio.ValueOf(a, i)); h.Format != codec.Unknown { // a damaged one is an image too
			c[a.Field] = true
			return
		}
	}
}

// Sniff finds the fields of images in the first rows of the first row group that can be read.
func Sniff(ctx context.Context, m *rowgroup.Reader) (Columns, error) {
	found := Columns{}
	shape, err := loader.Options{}.Shape(m.Schema())
	if err != nil {
		return nil, err
	}
	for _, group := range m.Groups() {
		var rows []int64
		for i := range min(SniffedRows, group.Rows) {
			rows = append(rows, group.First+i)
		}
		err := rowio.TakeOf(ctx, m, shape, rows, func(columns []*column.Array, _ int) error {
			for _, a := range columns {
				found.Note(a)
			}
			return nil
		})
		if err == nil && (len(found) > 0 || len(rows) == SniffedRows) || err != nil && !rowgroup.IsLoss(err) {
			return found, err
		}
	}
	return found, nil
}
