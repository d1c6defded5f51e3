package main

import (
	"context"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/rowio"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

// imageColumns are the fields of a schema, members of structs and items of lists among them, whose
// values are images.
type imageColumns map[*column.Field]bool

// sniffedRows is the number of rows read to find the columns that hold images.
const sniffedRows = 8

// findImages reads the first rows of a data set, or of each source of a mixture. One image makes a
// column one of images.
func findImages(ctx context.Context, all []*iterable.Dataset, shape *loader.Shape) (imageColumns, error) {
	found := imageColumns{}
	var rows [sniffedRows]int64
	for i := range rows {
		rows[i] = int64(i)
	}
	for _, ds := range all {
		first := rows[:min(sniffedRows, ds.Manifest().NumRows())]
		err := rowio.Take(ctx, ds, shape, first, func(columns []*column.Array, _ int) error {
			for _, a := range columns {
				found.note(a)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// note looks at the values of a column and its children.
func (c imageColumns) note(a *column.Array) {
	for _, child := range a.Children {
		c.note(child)
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
