package jsonl

import (
	"encoding/binary"

	"github.com/shardfeed/shardfeed/column"
)

// fixed is a column of values that are already bytes, all of the field's width.
func fixed(f *column.Field, values ...[]byte) *column.Array {
	f.Kind, f.Width = column.Fixed, len(values[0])
	a := &column.Array{Field: f, Len: len(values)}
	for _, v := range values {
		a.Data = append(a.Data, v...)
	}
	return a
}

// variable is a column of values of any length.
func variable(f *column.Field, values ...string) *column.Array {
	f.Kind = column.Binary
	a := &column.Array{Field: f, Len: len(values), Offsets: []int32{0}}
	for _, v := range values {
		a.Data = append(a.Data, v...)
		a.Offsets = append(a.Offsets, int32(len(a.Data)))
	}
	return a
}

func int32s(name string, values ...int32) *column.Array {
	f := &column.Field{Name: name, Type: column.TypeInt32}
	var bytes [][]byte
	for _, v := range values {
		bytes = append(bytes, u32(uint32(v)))
	}
	a := fixed(f, append(bytes, u32(0))...)
	a.Len, a.Data = len(values), a.Data[:4*len(values)]
	return a
}

// withNulls marks the values at these places as null.
func withNulls(a *column.Array, places ...int) *column.Array {
	a.Valid = make([]byte, (a.Len+7)/8)
	for i := range a.Len {
		a.Valid[i/8] |= 1 << (i % 8)
	}
	for _, i := range places {
		a.Valid[i/8] &^= 1 << (i % 8)
	}
	a.Nulls, a.Field.Nullable = len(places), true
	return a
}

func listOf(name string, items *column.Array, offsets ...int32) *column.Array {
	f := &column.Field{Name: name, Kind: column.List, Children: []*column.Field{items.Field}}
	return &column.Array{Field: f, Len: len(offsets) - 1, Offsets: offsets, Children: []*column.Array{items}}
}

func structOf(name string, members ...*column.Array) *column.Array {
	f := &column.Field{Name: name, Kind: column.Struct}
	for _, m := range members {
		f.Children = append(f.Children, m.Field)
	}
	return &column.Array{Field: f, Len: members[0].Len, Children: members}
}

// lines writes every row of the columns.
func lines(columns ...*column.Array) string {
	schema := &column.Schema{}
	for _, c := range columns {
		schema.Fields = append(schema.Fields, c.Field)
	}
	w := NewWriter(schema)
	var out []byte
	for i := range columns[0].Len {
		out = w.AppendRow(out, columns, i)
	}
	return string(out)
}

// value writes the first value of a column that is called v, without the row around it.
func value(a *column.Array) string {
	a.Field.Name = "v"
	s := lines(a)
	return s[len(`{"v":`) : len(s)-len("}\n")]
}

func u16(v uint16) []byte { return binary.LittleEndian.AppendUint16(nil, v) }
func u32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
func u64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
