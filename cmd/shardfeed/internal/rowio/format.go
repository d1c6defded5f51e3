package rowio

import (
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/arrowipc"
	"github.com/shardfeed/shardfeed/internal/jsonl"
)

// Formats lists the names of formats.
var Formats = []string{"jsonl", "csv", "arrow"}

// A Format is a form of rows: what comes before and after them, and either one row or many at
// once.
type Format struct {
	Begin, End []byte
	Row        func(dst []byte, columns []*column.Array, i int) []byte
	Batch      func(dst []byte, columns []*column.Array, n int) []byte
}

// FormatOf returns the named format. It cuts lists after items.
func FormatOf(name string, schema *column.Schema, items int) (Format, error) {
	switch name {
	case "csv":
		plain := jsonl.NewPlain(schema, items)
		return Format{Begin: plain.AppendCSVHeader(nil), Row: plain.AppendCSV}, nil
	case "arrow":
		w, err := arrowipc.NewWriter(schema)
		if err != nil {
			return Format{}, err
		}
		return Format{Begin: w.Begin(nil), End: w.End(nil), Batch: w.AppendBatch}, nil
	}
	return Format{Row: jsonl.NewShortWriter(schema, items).AppendRow}, nil
}
