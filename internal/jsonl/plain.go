package jsonl

import (
	"bytes"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/column"
)

// A Plain turns values into text for tables and CSV: the forms of [Writer] without quotes, and
// nested values as JSON. It is not safe for concurrent use.
type Plain struct {
	names   []string
	columns []appender
}

// NewPlain returns the forms of the schema's columns. It cuts lists and maps after the given number
// of items, as [NewShortWriter] does.
func NewPlain(schema *column.Schema, items int) *Plain {
	p := &Plain{}
	for _, f := range schema.Fields {
		p.names = append(p.names, f.Name)
		p.columns = append(p.columns, forms{items}.plain(f))
	}
	return p
}

// plain is the form of a field's values that are not null.
func (o forms) plain(f *column.Field) appender {
	if f.Kind == column.Binary {
		switch f.Type {
		case column.TypeString, column.TypeEnum, column.TypeJSON:
			return func(dst []byte, a *column.Array, i int) []byte {
				return appendUTF8(dst, a.Data[a.Offsets[i]:a.Offsets[i+1]])
			}
		}
	}
	value := o.form(f)
	return func(dst []byte, a *column.Array, i int) []byte {
		start := len(dst)
		dst = value(dst, a, i)
		if dst[start] != '"' {
			return dst
		}
		return append(dst[:start], dst[start+1:len(dst)-1]...) // nothing in these forms is escaped
	}
}

// appendUTF8 appends text. Bytes that are not UTF-8 become U+FFFD.
func appendUTF8(dst, text []byte) []byte {
	if utf8.Valid(text) {
		return append(dst, text...)
	}
	for _, r := range string(text) {
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// Append appends value i of column c.
func (p *Plain) Append(dst []byte, c int, a *column.Array, i int) []byte {
	return p.columns[c](dst, a, i)
}

// AppendCSVHeader appends the columns' names as a line of RFC 4180, which ends in a line feed.
func (p *Plain) AppendCSVHeader(dst []byte) []byte {
	for c, name := range p.names {
		if c > 0 {
			dst = append(dst, ',')
		}
		start := len(dst)
		dst = quoteCSV(append(dst, name...), start)
	}
	return append(dst, '\n')
}

// AppendCSV appends row i as a line of RFC 4180, which ends in a line feed. A null has no
// characters, an empty text two quotes.
func (p *Plain) AppendCSV(dst []byte, columns []*column.Array, i int) []byte {
	for c, a := range columns {
		if c > 0 {
			dst = append(dst, ',')
		}
		if a.IsNull(i) {
			continue
		}
		start := len(dst)
		dst = quoteCSV(p.Append(dst, c, a, i), start)
	}
	return append(dst, '\n')
}

// quoteCSV quotes the value dst[start:] if necessary.
func quoteCSV(dst []byte, start int) []byte {
	value := dst[start:]
	if len(value) > 0 && !bytes.ContainsAny(value, ",\"\r\n") {
		return dst
	}
	own := bytes.ReplaceAll(value, []byte(`"`), []byte(`""`))
	dst = append(append(dst[:start], '"'), own...)
	return append(dst, '"')
}
