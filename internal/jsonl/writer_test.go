package jsonl

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

func TestRows(t *testing.T) {
	texts := func(name string, values ...string) *column.Array {
		return variable(&column.Field{Name: name, Type: column.TypeString}, values...)
	}
	fixedList := listOf("pair", int32s("item", 1, 2, 3, 4, 5, 6), 0)
	fixedList.Field.ListSize, fixedList.Offsets, fixedList.Len = 2, nil, 3

	entries := structOf("entries", texts("key", "a", "b", "a"), withNulls(int32s("value", 1, 0, 3), 1))
	attributes := listOf("attributes", entries, 0, 2, 2, 3)
	attributes.Field.Kind = column.Map

	set := listOf("set", structOf("entries", int32s("key", 7, 8)), 0, 1, 2)
	set.Field.Kind = column.Map

	cases := []struct {
		name    string
		columns []*column.Array
		want    string
	}{
		{
			"columns in schema order, nulls",
			[]*column.Array{withNulls(int32s("b", 1, 0, 3), 1), texts("a", "x", "", "z")},
			`{"b":1,"a":"x"} {"b":null,"a":""} {"b":3,"a":"z"}`,
		},
		{
			"repeated and odd names",
			[]*column.Array{int32s("n", 1), int32s("n", 2), int32s(`q"`, 3), int32s("", 4)},
			`{"n":1,"n":2,"q\"":3,"":4}`,
		},
		{
			"lists, empty and null ones among them",
			[]*column.Array{withNulls(listOf("l", withNulls(int32s("item", 1, 0, 3), 1), 0, 2, 2, 2, 3), 2)},
			`{"l":[1,null]} {"l":[]} {"l":null} {"l":[3]}`,
		},
		{"lists of a fixed size", []*column.Array{withNulls(fixedList, 1)}, `{"pair":[1,2]} {"pair":null} {"pair":[5,6]}`},
		{
			"lists of lists",
			[]*column.Array{listOf("m", listOf("row", int32s("item", 1, 2, 3), 0, 1, 1, 3), 0, 2, 3)},
			`{"m":[[1],[]]} {"m":[[2,3]]}`,
		},
		{"maps", []*column.Array{attributes}, `{"attributes":[["a",1],["b",null]]} {"attributes":[]} {"attributes":[["a",3]]}`},
		{"a map without values", []*column.Array{set}, `{"set":[[7,null]]} {"set":[[8,null]]}`},
		{
			"structs",
			[]*column.Array{withNulls(structOf("s", int32s("x", 1, 0), structOf("in", texts("y", "p", ""))), 1)},
			`{"s":{"x":1,"in":{"y":"p"}}} {"s":null}`,
		},
		{
			"a struct without members, unknown",
			[]*column.Array{
				{Field: &column.Field{Name: "e", Kind: column.Struct}, Len: 1},
				{Field: &column.Field{Name: "u", Kind: column.Null, Type: column.TypeUnknown, Nullable: true}, Len: 1, Nulls: 1},
			},
			`{"e":{},"u":null}`,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := lines(c.columns...)
			if want := strings.ReplaceAll(c.want, "} {", "}\n{") + "\n"; got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

func TestNoColumns(t *testing.T) {
	if got := string(NewWriter(&column.Schema{}).AppendRow(nil, nil, 0)); got != "{}\n" {
		t.Errorf("got %q", got)
	}
}

func TestAppendRowDoesNotAllocate(t *testing.T) {
	columns := []*column.Array{
		int32s("id", 1, 2),
		variable(&column.Field{Name: "title", Type: column.TypeString}, "가방", "\n"),
		fixed(&column.Field{Name: "price", Type: column.TypeDecimal, Scale: 2}, append(u64(1), u64(1)...), append(u64(2), u64(2)...)),
		fixed(&column.Field{Name: "at", Type: column.TypeTimestamp}, u64(1), u64(2)),
		listOf("tokens", int32s("item", 1, 2, 3), 0, 1, 3),
	}
	var fields []*column.Field
	for _, c := range columns {
		fields = append(fields, c.Field)
	}
	w, buf := NewWriter(&column.Schema{Fields: fields}), make([]byte, 0, 1<<10)
	n := testing.AllocsPerRun(100, func() {
		buf = w.AppendRow(buf[:0], columns, 0)
		buf = w.AppendRow(buf, columns, 1)
	})
	if n > 0 {
		t.Errorf("%v allocations for two rows", n)
	}
}

// Whatever bytes a value has, the line is valid JSON, is one line, and a valid string reads back as
// itself.
func FuzzRow(f *testing.F) {
	for typ := range column.TypeBSON + 1 {
		f.Add(byte(typ), []byte("0123456789abcdef0123456789abcdef"), 3, "name")
	}
	f.Fuzz(func(t *testing.T, typ byte, data []byte, scale int, name string) {
		columns := []*column.Array{
			variable(&column.Field{Name: name, Type: column.TypeString}, string(data)),
			variable(&column.Field{Name: "d", Type: column.TypeDecimal, Scale: scale & 0xff}, string(data)),
			variable(&column.Field{Name: "b", Type: column.TypeBinary}, string(data)),
		}
		if width := widthOf(column.Type(typ)); len(data) >= width && width > 0 {
			field := &column.Field{Name: "v", Type: column.Type(typ), Unit: column.Unit(scale & 3), Scale: scale & 0x7f}
			columns = append(columns, fixed(field, data[:width]))
		}
		line := lines(columns...)
		if !json.Valid([]byte(line)) || strings.Count(line, "\n") != 1 {
			t.Fatalf("not one line of JSON: %q", line)
		}
		var back map[string]any
		if err := json.Unmarshal([]byte(line), &back); err != nil {
			t.Fatal(err)
		}
		if len(columns) == 3 && strings.ToValidUTF8(name, "") == name && name != "d" && name != "b" {
			if want := string([]rune(string(data))); back[name] != want {
				t.Fatalf("%q reads back as %q", want, back[name])
			}
		}
	})
}

func widthOf(t column.Type) int {
	switch t {
	case column.TypeBool, column.TypeInt8, column.TypeUint8:
		return 1
	case column.TypeInt16, column.TypeUint16, column.TypeFloat16:
		return 2
	case column.TypeInt32, column.TypeUint32, column.TypeFloat32, column.TypeDate:
		return 4
	case column.TypeInt64, column.TypeUint64, column.TypeFloat64, column.TypeTime, column.TypeTimestamp:
		return 8
	case column.TypeInt96, column.TypeInterval:
		return 12
	case column.TypeUUID, column.TypeFixedBinary:
		return 16
	case column.TypeDecimal:
		return 32
	}
	return 0
}
