package jsonl

import (
	"math"

	"github.com/shardfeed/shardfeed/column"
)

// A Writer turns rows of one schema into JSON lines. It is not safe for concurrent use.
type Writer struct {
	columns []member
}

// A member is a name of an object, ready to be written, and the form of its values.
type member struct {
	key    string // `"name":`, with a comma before it when it is not the first
	append appender
}

// An appender appends value i of an array to dst.
type appender func(dst []byte, a *column.Array, i int) []byte

// NewWriter returns a writer of rows of the schema.
func NewWriter(schema *column.Schema) *Writer { return NewShortWriter(schema, math.MaxInt) }

// NewShortWriter returns a writer that cuts lists and maps after the given number of items and
// appends a text with their length, as in [1,2,"... (3000 items)"].
func NewShortWriter(schema *column.Schema, items int) *Writer {
	return &Writer{columns: forms{items}.members(schema.Fields)}
}

// forms makes the forms of fields.
type forms struct {
	items int // of a list that are written
}

// AppendRow appends row i of the columns to dst, as one line with its line feed. Columns must be in
// schema order.
func (w *Writer) AppendRow(dst []byte, columns []*column.Array, i int) []byte {
	dst = append(dst, '{')
	for c := range w.columns {
		m := &w.columns[c]
		dst = append(dst, m.key...)
		dst = m.append(dst, columns[c], i)
	}
	return append(dst, '}', '\n')
}

func (o forms) members(fields []*column.Field) []member {
	list := make([]member, len(fields))
	for i, f := range fields {
		var key []byte
		if i > 0 {
			key = append(key, ',')
		}
		key = append(appendString(key, []byte(f.Name)), ':')
		list[i] = member{key: string(key), append: o.nullable(f)}
	}
	return list
}

// nullable is the form of a field's values, null among them.
func (o forms) nullable(f *column.Field) appender {
	present := o.form(f)
	return func(dst []byte, a *column.Array, i int) []byte {
		if a.IsNull(i) {
			return append(dst, "null"...)
		}
		return present(dst, a, i)
	}
}

// form is how the values of a field are written when they are not null.
func (o forms) form(f *column.Field) appender {
	switch f.Kind {
	case column.List:
		return o.list(f)
	case column.Map:
		return o.pairs(f)
	case column.Struct:
		return o.object(f)
	case column.Null:
		return func(dst []byte, _ *column.Array, _ int) []byte { return append(dst, "null"...) }
	}
	if f.Type == column.TypeDecimal {
		return decimal(f)
	}
	value := scalar(f)
	if f.Kind == column.Binary {
		return func(dst []byte, a *column.Array, i int) []byte {
			return value(dst, a.Data[a.Offsets[i]:a.Offsets[i+1]])
		}
	}
	width := f.Width
	return func(dst []byte, a *column.Array, i int) []byte {
		return value(dst, a.Data[i*width:(i+1)*width])
	}
}
