package rowio

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/jsonl"
	"github.com/shardfeed/shardfeed/internal/printable"
	"github.com/shardfeed/shardfeed/internal/table"
)

// cellWidth is the columns that a value takes at most in a table, unless values are shown in full.
const cellWidth = 40

// A Table is rows as a table for people: a line for each row, or a line for each value where
// such lines are wider than the terminal.
type Table struct {
	plain  *jsonl.Plain
	schema *column.Schema
	full   bool
	cells  [][]string // by row
}

// NewTable makes a table of rows of the schema. It cuts lists after items, and other values unless
// full.
func NewTable(schema *column.Schema, full bool, items int) *Table {
	return &Table{plain: jsonl.NewPlain(schema, items), schema: schema, full: full}
}

// Add adds n rows.
func (t *Table) Add(columns []*column.Array, n int) error {
	var value []byte
	for i := range n {
		row := make([]string, len(columns))
		for c, a := range columns {
			row[c] = "null"
			if !a.IsNull(i) {
				value = t.plain.Append(value[:0], c, a, i)
				row[c] = t.cell(string(value))
			}
		}
		t.cells = append(t.cells, row)
	}
	return nil
}

// cell is a value on one line.
func (t *Table) cell(value string) string {
	value = printable.Text(value)
	if t.full || uniseg.StringWidth(value) <= cellWidth {
		return value
	}
	var b strings.Builder
	width := 0
	for g := uniseg.NewGraphemes(value); g.Next(); {
		if width += g.Width(); width > cellWidth-len("...") {
			break
		}
		b.WriteString(g.Str())
	}
	return b.String() + "..."
}

// Print writes the table in lines of at most width columns; 0 does not limit them.
func (t *Table) Print(w io.Writer, width int) error {
	var b bytes.Buffer
	if width > 0 && t.width() > width {
		t.writeValues(&b)
	} else {
		t.writeLines(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// width is the columns of the widest line.
func (t *Table) width() (total int) {
	for c, f := range t.schema.Fields {
		width := uniseg.StringWidth(printable.Text(f.Name))
		for _, row := range t.cells {
			width = max(width, uniseg.StringWidth(row[c]))
		}
		total += width + table.Gap
	}
	return total - table.Gap
}

func (t *Table) writeLines(b *bytes.Buffer) {
	names := make([]string, len(t.schema.Fields))
	right := make([]bool, len(t.schema.Fields))
	for c, f := range t.schema.Fields {
		names[c], right[c] = printable.Text(f.Name), isNumber(f)
	}
	b.WriteString(table.Text(append([][]string{names}, t.cells...), right))
}

// writeValues writes a block of lines for each row.
func (t *Table) writeValues(b *bytes.Buffer) {
	width := 0
	for _, f := range t.schema.Fields {
		width = max(width, uniseg.StringWidth(printable.Text(f.Name)))
	}
	for i, row := range t.cells {
		if i > 0 {
			fmt.Fprintln(b)
		}
		for c, cell := range row {
			fmt.Fprintf(b, "%s  %s\n", table.Pad(printable.Text(t.schema.Fields[c].Name), width), cell)
		}
	}
}

func isNumber(f *column.Field) bool {
	switch f.Type {
	case column.TypeInt8, column.TypeInt16, column.TypeInt32, column.TypeInt64, column.TypeUint8, column.TypeUint16, column.TypeUint32,
		column.TypeUint64, column.TypeFloat16, column.TypeBFloat16, column.TypeFloat32, column.TypeFloat64, column.TypeDecimal:
		return true
	}
	return false
}
