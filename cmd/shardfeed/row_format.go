package main

import (
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/arrowipc"
	"github.com/shardfeed/shardfeed/internal/jsonl"
)

var catFormats = []string{"jsonl", "csv", "arrow"}

// A rowFormat is a form of rows: what comes before and after them, and either one row or many at
// once.
type rowFormat struct {
	begin, end []byte
	row        func(dst []byte, columns []*column.Array, i int) []byte
	batch      func(dst []byte, columns []*column.Array, n int) []byte
}

// formatOf returns the named format. It cuts lists after items.
func formatOf(name string, schema *column.Schema, items int) (rowFormat, error) {
	switch name {
	case "csv":
		plain := jsonl.NewPlain(schema, items)
		return rowFormat{begin: plain.AppendCSVHeader(nil), row: plain.AppendCSV}, nil
	case "arrow":
		w, err := arrowipc.NewWriter(schema)
		if err != nil {
			return rowFormat{}, err
		}
		return rowFormat{begin: w.Begin(nil), end: w.End(nil), batch: w.AppendBatch}, nil
	}
	return rowFormat{row: jsonl.NewShortWriter(schema, items).AppendRow}, nil
}
