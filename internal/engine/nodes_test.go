package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/loader"
)

func TestNodes(t *testing.T) {
	price := &column.Field{Name: "price", Kind: column.Fixed, Type: column.TypeDecimal, Width: 8, Nullable: true, Precision: 9, Scale: 2}
	at := &column.Field{Name: "at", Kind: column.Fixed, Type: column.TypeTimestamp, Width: 8, Unit: column.Micro, UTC: true}
	item := &column.Field{Name: "element", Kind: column.Fixed, Type: column.TypeInt32, Width: 4}
	ids := &column.Field{Name: "ids", Kind: column.List, Children: []*column.Field{item}}
	day := &column.Field{Name: "day", Kind: column.Binary, Type: column.TypeString, Partition: true}
	schema := &column.Schema{Fields: []*column.Field{price, at, ids, day, {Name: "none", Kind: column.Null, Type: column.TypeUnknown}}}
	plain := func(change func(*wire.Node), n wire.Node) wire.Node {
		n.Children = []wire.Node{}
		change(&n)
		return n
	}
	nothing := func(*wire.Node) {}
	element := plain(nothing, wire.Node{Name: "element", Kind: "fixed", Type: "int32", Width: 4})
	data := []wire.Node{
		plain(nothing, wire.Node{Name: "price", Kind: "fixed", Type: "decimal", Width: 8, Nullable: true, Precision: 9, Scale: 2}),
		plain(nothing, wire.Node{Name: "at", Kind: "fixed", Type: "timestamp", Width: 8, Unit: "us", UTC: true}),
		{Name: "ids", Kind: "list", Type: "list", Children: []wire.Node{element}},
		plain(nothing, wire.Node{Name: "day", Kind: "binary", Type: "string", Partition: true}),
		plain(nothing, wire.Node{Name: "none", Kind: "null", Type: column.TypeUnknown.String()}),
	}
	lengths := plain(nothing, wire.Node{Name: "ids_lengths", Kind: "fixed", Type: "int32", Width: 4, Added: true})
	for _, c := range []struct {
		name string
		pad  []loader.Padding
		size int
		more []wire.Node
	}{
		{"as it is", nil, 0, nil},
		{"padded", []loader.Padding{{Column: "ids"}}, -1, []wire.Node{lengths}},
		{"padded to a length", []loader.Padding{{Column: "ids", Max: 8, ToMax: true}}, 8, []wire.Node{lengths}},
		{"mask", []loader.Padding{{Column: "ids", Lengths: "n", Mask: "m"}}, -1, []wire.Node{
			plain(func(n *wire.Node) { n.Name = "n" }, lengths),
			{Name: "m", Kind: "list", Type: "list", ListSize: -1, Added: true, Children: []wire.Node{
				plain(nothing, wire.Node{Name: "m", Kind: "fixed", Type: "bool", Width: 1, Added: true}),
			}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := append(append([]wire.Node{}, data...), c.more...)
			want[2].ListSize = c.size
			a, _ := json.MarshalIndent(batchNodes(schema, loader.Options{Pad: c.pad}), "", " ")
			b, _ := json.MarshalIndent(want, "", " ")
			if string(a) != string(b) {
				t.Errorf("got %s\nwant %s", a, b)
			}
		})
	}
}

// Features change the columns, and a matrix names what it was stacked of.
func TestNodesOfFeatures(t *testing.T) {
	number := func(name string) *column.Field {
		return &column.Field{Name: name, Kind: column.Fixed, Type: column.TypeInt64, Width: 8, Nullable: true}
	}
	schema := &column.Schema{Fields: []*column.Field{number("a"), number("label"), number("b")}}
	got := batchNodes(schema, loader.Options{NaN: true, Features: loader.Features{
		Cast: map[string]loader.DType{"label": {Type: column.TypeBFloat16}}, Stack: []loader.Stack{{Name: "x", Columns: []string{"b", "a"}}},
	}, Fill: []loader.Fill{{Column: "x", Value: 0}}})
	a, _ := json.Marshal(got)
	const common = `"unit":"","utc":false,"precision":0,"scale":0`
	want := `[{"name":"label","kind":"fixed","type":"bfloat16","width":2,"nullable":true,` + common + `,"list_size":0,"partition":false,"added":false,"children":[]},` +
		`{"name":"x","kind":"list","type":"list","width":0,"nullable":false,` + common + `,"list_size":2,"partition":false,"added":false,"features":["a","b"],"children":[` +
		`{"name":"item","kind":"fixed","type":"float","width":4,"nullable":false,` + common + `,"list_size":0,"partition":false,"added":false,"children":[]}]}]`
	if string(a) != want {
		t.Errorf("got  %s\nwant %s", a, want)
	}
}

// Ids of rows are a part of the batches unless the loader leaves them out, and seeds come last.
func TestNodesOfRowIDs(t *testing.T) {
	field := func(name string, made bool) *column.Field {
		return &column.Field{Name: name, Kind: column.Fixed, Type: column.TypeInt64, Width: 8, Made: made}
	}
	lists := &column.Field{Name: "l", Kind: column.List, Children: []*column.Field{field("element", false)}}
	pad := []loader.Padding{{Column: "l"}}
	for _, c := range []struct {
		name, row string
		o         loader.Options
		want      string
	}{
		{"ids", "_row", loader.Options{Pad: pad}, "_row+ l l_lengths+"},
		{"seeds", "", loader.Options{Pad: pad, Seeds: true}, "l l_lengths+ _seed+"},
		{"both", "_row", loader.Options{Seeds: true}, "_row+ l _seed+"},
	} {
		t.Run(c.name, func(t *testing.T) {
			schema := &column.Schema{Fields: []*column.Field{field(c.row, true), lists}}
			var names []string
			for _, n := range batchNodes(schema, c.o) {
				if n.Added {
					n.Name += "+"
				}
				names = append(names, n.Name)
			}
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
