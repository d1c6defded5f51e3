package rowio

import (
	"encoding/base64"
	"fmt"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/text"
)

// What a shortened value keeps.
const (
	shownCharacters = 100 // of a text
	ShownItems      = 20  // of a list or a map
	wholeBytes      = 24  // of a binary value that is not cut
	shownBytes      = 12  // of one that is
)

// ShortSchema is the schema of columns that ShortColumns has shortened: binary values are text.
func ShortSchema(s *column.Schema) *column.Schema {
	short := &column.Schema{}
	for _, f := range s.Fields {
		short.Fields = append(short.Fields, shortField(f))
	}
	return short
}

func shortField(f *column.Field) *column.Field {
	own := *f
	if isBytes(f) {
		own.Kind, own.Type, own.Width = column.Binary, column.TypeString, 0
	}
	own.Children = nil
	for _, child := range f.Children {
		own.Children = append(own.Children, shortField(child))
	}
	return &own
}

// isBytes reports whether values are shown as base64.
func isBytes(f *column.Field) bool {
	switch f.Type {
	case column.TypeBinary, column.TypeBSON, column.TypeFixedBinary:
		return true
	}
	return false
}

// ShortColumns are the columns with long texts and binary values cut, as fields of the short
// schema.
func ShortColumns(columns []*column.Array, schema *column.Schema) []*column.Array {
	short := make([]*column.Array, len(columns))
	for c, a := range columns {
		short[c] = shortArray(a, schema.Fields[c])
	}
	return short
}

func shortArray(a *column.Array, f *column.Field) *column.Array {
	own := *a
	own.Field = f
	if isBytes(a.Field) || a.Field.Kind == column.Binary && f.Type != column.TypeDecimal {
		own.Offsets, own.Data = shortValues(a)
	}
	own.Children = nil
	for i, child := range a.Children {
		own.Children = append(own.Children, shortArray(child, f.Children[i]))
	}
	return &own
}

// shortValues are the values of a column of bytes or text as text.
func shortValues(a *column.Array) (offsets []int32, data []byte) {
	shorten := appendShortText
	if isBytes(a.Field) {
		shorten = appendShortBytes
	}
	offsets = append(make([]int32, 0, a.Len+1), 0)
	for i := range a.Len {
		if !a.IsNull(i) {
			data = shorten(data, ValueOf(a, i))
		}
		offsets = append(offsets, int32(len(data)))
	}
	return offsets, data
}

func ValueOf(a *column.Array, i int) []byte {
	if a.Field.Kind == column.Fixed {
		return a.Data[i*a.Field.Width : (i+1)*a.Field.Width]
	}
	return a.Data[a.Offsets[i]:a.Offsets[i+1]]
}

func appendShortBytes(dst, value []byte) []byte {
	if len(value) <= wholeBytes {
		return base64.StdEncoding.AppendEncode(dst, value)
	}
	size := text.Count(int64(len(value)))
	switch h, err := codec.ReadHeader(value); {
	case h.Format == codec.Unknown:
	case err != nil:
		return fmt.Appendf(dst, "%v damaged (%s bytes)", h.Format, size)
	default:
		return fmt.Appendf(dst, "%v %d x %d (%s bytes)", h.Format, h.Width, h.Height, size)
	}
	dst = base64.StdEncoding.AppendEncode(dst, value[:shownBytes])
	return fmt.Appendf(dst, "... (%s bytes)", size)
}

func appendShortText(dst, value []byte) []byte {
	end, shown := 0, 0
	for end < len(value) && shown < shownCharacters {
		_, size := utf8.DecodeRune(value[end:])
		end, shown = end+size, shown+1
	}
	dst = append(dst, value[:end]...)
	if end == len(value) {
		return dst
	}
	return fmt.Appendf(dst, "... (%s characters)", text.Count(int64(shown+utf8.RuneCount(value[end:]))))
}
