package jsonl

import (
	"math"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

func TestCSV(t *testing.T) {
	texts := func(name string, values ...string) *column.Array {
		return variable(&column.Field{Name: name, Kind: column.Binary, Type: column.TypeString}, values...)
	}
	cases := []struct {
		name    string
		columns []*column.Array
		want    string
	}{
		{"numbers and nulls", []*column.Array{withNulls(int32s("n", 1, 0, 3), 1), texts("t", "a", "b", "c")}, "n,t\n1,a\n,b\n3,c\n"},
		{"an empty text is not null", []*column.Array{withNulls(texts("t", "", ""), 1)}, "t\n\"\"\n\n"},
		{"text that is quoted", []*column.Array{texts("t", "a,b", `say "x"`, "two\nlines", "cr\r", " space ")}, "t\n\"a,b\"\n\"say \"\"x\"\"\"\n\"two\nlines\"\n\"cr\r\"\n space \n"},
		{"names that are quoted", []*column.Array{int32s("a,b", 1), int32s("", 2), int32s("a,b", 3)}, "\"a,b\",\"\",\"a,b\"\n1,2,3\n"},
		{"lists", []*column.Array{listOf("l", int32s("item", 1, 2, 3), 0, 2, 3)}, "l\n\"[1,2]\"\n[3]\n"},
		{"lists of text", []*column.Array{listOf("l", texts("item", "a"), 0, 1)}, "l\n\"[\"\"a\"\"]\"\n"},
		{"structs", []*column.Array{structOf("s", int32s("x", 1))}, "s\n\"{\"\"x\"\":1}\"\n"},
		{"binary", []*column.Array{variable(&column.Field{Name: "b", Kind: column.Binary, Type: column.TypeBinary}, "\x00\xff")}, "b\nAP8=\n"},
		{"text that is not UTF-8", []*column.Array{texts("t", "a\xffb")}, "t\na\ufffdb\n"},
		{
			"dates",
			[]*column.Array{{Field: &column.Field{Name: "d", Type: column.TypeDate, Width: 4}, Len: 1, Data: []byte{1, 0, 0, 0}}},
			"d\n1970-01-02\n",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			schema := &column.Schema{}
			for _, a := range c.columns {
				schema.Fields = append(schema.Fields, a.Field)
			}
			p := NewPlain(schema, math.MaxInt)
			got := p.AppendCSVHeader(nil)
			for i := range c.columns[0].Len {
				got = p.AppendCSV(got, c.columns, i)
			}
			if string(got) != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestShortLists(t *testing.T) {
	l := listOf("l", int32s("item", 1, 2, 3, 4, 5), 0, 2, 5)
	schema := &column.Schema{Fields: []*column.Field{l.Field}}
	w := NewShortWriter(schema, 2)
	got := w.AppendRow(w.AppendRow(nil, []*column.Array{l}, 0), []*column.Array{l}, 1)
	if want := "{\"l\":[1,2]}\n{\"l\":[3,4,\"... (3 items)\"]}\n"; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := string(NewPlain(schema, 2).Append(nil, 0, l, 1)), `[3,4,"... (3 items)"]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
