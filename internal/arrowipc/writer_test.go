package arrowipc

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/shardfeed/shardfeed/column"
)

// A sample is a column of three values, and what Arrow's own reader shows of it.
type sample struct {
	name  string
	array *column.Array
	typ   string
	want  string
}

func fixed(typ column.Type, width int, data ...byte) *column.Array {
	return &column.Array{Field: &column.Field{Kind: column.Fixed, Type: typ, Width: width, Nullable: true}, Len: len(data) / width, Data: data}
}

func with(a *column.Array, change func(f *column.Field)) *column.Array {
	change(a.Field)
	return a
}

func texts(typ column.Type) *column.Array {
	return &column.Array{
		Field: &column.Field{Kind: column.Binary, Type: typ, Nullable: true}, Len: 3, Nulls: 1, Valid: []byte{0b101},
		Offsets: []int32{0, 1, 1, 3}, Data: []byte("abc unused"),
	}
}

func nested(kind column.Kind, size int, offsets []int32, children ...*column.Array) *column.Array {
	f := &column.Field{Kind: kind, Nullable: true, ListSize: size}
	for i, c := range children {
		c.Field.Name = string(rune('a' + i))
		f.Children = append(f.Children, c.Field)
	}
	return &column.Array{Field: f, Len: 3, Nulls: 1, Valid: []byte{0b110}, Offsets: offsets, Children: children}
}

func int64s(values ...uint64) (data []byte) {
	for _, v := range values {
		data = le.AppendUint64(data, v)
	}
	return data
}

func samples() []sample {
	bytes3 := func() *column.Array { return fixed(column.TypeInt8, 1, 1, 2, 3) }
	key := func() *column.Array { return with(bytes3(), func(f *column.Field) { f.Nullable = false }) }
	entries := func(members ...*column.Array) *column.Array {
		a := nested(column.Struct, 0, nil, members...)
		a.Field.Nullable, a.Valid, a.Nulls = false, nil, 0
		return a
	}
	unit := func(u column.Unit, utc bool) func(*column.Field) {
		return func(f *column.Field) { f.Unit, f.UTC = u, utc }
	}
	digits := func(f *column.Field) { f.Precision, f.Scale = 10, 2 }
	return []sample{
		{"bool", fixed(column.TypeBool, 1, 1, 0, 1), "bool", "[true false true]"},
		{"int8", fixed(column.TypeInt8, 1, 1, 0xff, 3), "int8", "[1 -1 3]"},
		{"uint16", fixed(column.TypeUint16, 2, 1, 0, 0xff, 0xff, 3, 0), "uint16", "[1 65535 3]"},
		{"double", fixed(column.TypeFloat64, 8, int64s(0x3ff8000000000000, 0, 0)...), "float64", "[1.5 0 0]"},
		{"float", fixed(column.TypeFloat32, 4, 0, 0, 0xc0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0), "float32", "[1.5 0 0]"},
		{"float16", fixed(column.TypeFloat16, 2, 0, 0x3e, 0, 0, 0, 0), "float16", "[1.5 0 0]"},
		{"date", fixed(column.TypeDate, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), "date32", "[1970-01-02 1970-01-01 1970-01-01]"},
		{"time ms", fixed(column.TypeTime, 8, int64s(1, 2, 3)...), "time32[ms]", "[1 2 3]"},
		{"time us", with(fixed(column.TypeTime, 8, int64s(1, 2, 3)...), unit(column.Micro, false)), "time64[us]", "[1 2 3]"},
		{"timestamp", with(fixed(column.TypeTimestamp, 8, int64s(1, 2, 3)...), unit(column.Nano, true)), "timestamp[ns, tz=UTC]", "[1 2 3]"},
		{"local timestamp", fixed(column.TypeTimestamp, 8, int64s(1, 2, 3)...), "timestamp[ms]", "[1 2 3]"},
		{"decimal", with(fixed(column.TypeDecimal, 8, int64s(150, ^uint64(0), 0)...), digits), "decimal(10, 2)", "[1.5 -0.01 0]"},
		{"wide decimal", with(fixed(column.TypeDecimal, 32, make([]byte, 96)...), digits), "decimal256(10, 2)", "[0 0 0]"},
		{"UUID", fixed(column.TypeUUID, 16, make([]byte, 48)...), "", ""},
		{"fixed binary", fixed(column.TypeFixedBinary, 1, 'a', 'b', 'c'), "fixed_size_binary[1]", `["a" "b" "c"]`},
		{"text", texts(column.TypeString), "utf8", `["a" (null) "bc"]`},
		{"binary", texts(column.TypeBinary), "binary", `["a" (null) "bc"]`},
		{"null", &column.Array{Field: &column.Field{Kind: column.Null}, Len: 3}, "null", "[(null) (null) (null)]"},
		{"list", nested(column.List, 0, []int32{0, 0, 2, 3}, bytes3()), "list<a: int8, nullable>", "[(null) [1 2] [3]]"},
		{"sized list", nested(column.List, 1, nil, bytes3()), "fixed_size_list<a: int8, nullable>[1]", "[(null) [2] [3]]"},
		{"struct", nested(column.Struct, 0, nil, bytes3(), texts(column.TypeJSON)), "struct<a: int8 nullable, b: utf8 nullable>", ""},
		{"map", nested(column.Map, 0, []int32{0, 0, 2, 3}, entries(key(), texts(column.TypeString))), "map<int8, utf8, items_nullable>", ""},
		{"keys", nested(column.Map, 0, []int32{0, 0, 2, 3}, entries(key())), "list<a: struct<a: int8>>", ""},
	}
}

// Arrow's own reader reads all types, in two batches of which the second is empty.
func TestStream(t *testing.T) {
	all := samples()
	schema := &column.Schema{}
	var columns, none []*column.Array
	for i := range all {
		all[i].array.Field.Name = all[i].name
		schema.Fields = append(schema.Fields, all[i].array.Field)
		columns = append(columns, all[i].array)
		none = append(none, empty(all[i].array))
	}
	w, err := NewWriter(schema)
	if err != nil {
		t.Fatal(err)
	}
	stream := w.Begin(nil)
	stream = w.AppendBatch(stream, columns, 3)
	for _, place := range w.places {
		if place[0]%8 != 0 {
			t.Errorf("a buffer begins at byte %d of the body, which is not aligned to 8", place[0])
		}
	}
	stream = w.AppendBatch(stream, none, 0)
	stream = w.End(stream)

	r, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if !r.Next() {
		t.Fatalf("no batch: %v", r.Err())
	}
	got := r.RecordBatch()
	for i, s := range all {
		t.Run(s.name, func(t *testing.T) { s.check(t, got.Schema().Field(i), got.Column(i)) })
	}
	if !r.Next() || r.RecordBatch().NumRows() != 0 || r.Next() || r.Err() != nil {
		t.Errorf("the second batch, or the end: %v", r.Err())
	}
}

func (s *sample) check(t *testing.T, f arrow.Field, a arrow.Array) {
	t.Helper()
	if f.Name != s.name || !f.Nullable {
		t.Errorf("the field is %v", f)
	}
	if s.typ != "" && f.Type.String() != s.typ {
		t.Errorf("the type is %v, want %s", f.Type, s.typ)
	}
	if s.want != "" && a.String() != s.want {
		t.Errorf("the values are %v, want %s", a, s.want)
	}
	switch a := a.(type) {
	case *array.Struct:
		if a.Field(1).String() != `["a" (null) "bc"]` || !a.IsNull(0) {
			t.Errorf("the members are %v", a)
		}
	case *array.Map:
		if a.Keys().String() != "[1 2 3]" || a.Items().String() != `["a" (null) "bc"]` {
			t.Errorf("the map is %v", a)
		}
	}
}

// empty is a column of that type without rows and memory.
func empty(a *column.Array) *column.Array {
	none := &column.Array{Field: a.Field}
	for _, c := range a.Children {
		none.Children = append(none.Children, empty(c))
	}
	return none
}

func TestUUIDIsMarked(t *testing.T) {
	f := fixed(column.TypeUUID, 16).Field
	w, err := NewWriter(&column.Schema{Fields: []*column.Field{f}})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"ARROW:extension:name", "arrow.uuid"} {
		if !bytes.Contains(w.Begin(nil), []byte(text)) {
			t.Errorf("the schema has no %s", text)
		}
	}
}

func TestRefused(t *testing.T) {
	_, err := NewWriter(&column.Schema{Fields: []*column.Field{{Name: "x", Kind: column.List, Children: []*column.Field{{Name: "y"}}}}})
	if err == nil || err.Error() != `column "y" is none, which has no Arrow type` {
		t.Errorf("the error is %v", err)
	}
}
