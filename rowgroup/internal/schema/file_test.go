package schema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

// dumpNodes writes one line per node: name, type of a leaf or kind, ? when nullable, levels, and of
// a leaf index, maxima and conversion.
func dumpNodes(nodes []*Node) string {
	var b strings.Builder
	var dump func(n *Node, indent string)
	dump = func(n *Node, indent string) {
		kind := map[column.Kind]string{column.List: "list", column.Map: "map", column.Struct: "struct"}[n.Field.Kind]
		if kind == "" {
			kind = n.Field.String()
		}
		if n.Field.Nullable {
			kind += "?"
		}
		fmt.Fprintf(&b, "%s%s %s", indent, n.Field.Name, kind)
		switch {
		case n.Missing:
			b.WriteString(" missing")
		case n.Field.Kind == column.List || n.Field.Kind == column.Map:
			fmt.Fprintf(&b, " %d %d/%d", n.Def, n.RepDef, n.Rep)
		default:
			fmt.Fprintf(&b, " %d/%d", n.Def, n.Rep)
		}
		if l := n.Leaf; l != nil {
			fmt.Fprintf(&b, " leaf %d %d/%d", l.Index, l.MaxDef, l.MaxRep)
			if l.Convert != ConvertNone {
				b.WriteString(" " + []string{"", "narrow", "widen int", "widen uint", "widen float", "decimal", "recast", "null"}[l.Convert])
			}
		}
		b.WriteByte('\n')
		for _, c := range n.Children {
			dump(c, indent+"  ")
		}
	}
	for _, n := range nodes {
		dump(n, "")
	}
	return b.String()
}

func TestSchemaNesting(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"flat", `required int32 a; optional int64 b;`, `
a int32 0/0 leaf 0 0/0
b int64? 1/0 leaf 1 1/0
`},
		{"struct", `optional group s { required int32 a; optional group t { optional double b; } }`, `
s struct? 1/0
  a int32 1/0 leaf 0 1/0
  t struct? 2/0
    b double? 3/0 leaf 1 3/0
`},
		{"list of three levels", `optional group a (LIST) { repeated group list { optional int32 element; } }`, `
a list? 1 2/1
  element int32? 3/1 leaf 0 3/1
`},
		{"list, logical type, required, odd names", `required group a (:LIST) { repeated group bag { required binary array_element (UTF8); } }`, `
a list 0 1/1
  element string 1/1 leaf 0 1/1
`},
		{"rule 1: repeated leaf", `optional group a (LIST) { repeated int32 element; }`, `
a list? 1 2/1
  element int32 2/1 leaf 0 2/1
`},
		{"rule 2: group of several", `optional group a (LIST) { repeated group element { required binary str (UTF8); required int32 num; } }`, `
a list? 1 2/1
  element struct 2/1
    str string 2/1 leaf 0 2/1
    num int32 2/1 leaf 1 2/1
`},
		{"rule 3: list of list in two levels", `optional group a (LIST) { repeated group array (LIST) { repeated int32 array; } }`, `
a list? 1 2/1
  element list 2 3/2
    element int32 3/2 leaf 0 3/2
`},
		{"rule 3: unannotated", `optional group a (LIST) { repeated group list { repeated int32 x; } }`, `
a list? 1 2/1
  element struct 2/1
    x list 2 3/2
      element int32 3/2 leaf 0 3/2
`},
		{"rule 4: array", `optional group a (LIST) { repeated group array { required binary str (UTF8); } }`, `
a list? 1 2/1
  element struct 2/1
    str string 2/1 leaf 0 2/1
`},
		{"rule 4: tuple", `optional group a (LIST) { repeated group a_tuple { optional int32 x; } }`, `
a list? 1 2/1
  element struct 2/1
    x int32? 3/1 leaf 0 3/1
`},
		{"rule 5: any name", `optional group a (LIST) { repeated group element { optional binary str (UTF8); } }`, `
a list? 1 2/1
  element string? 3/1 leaf 0 3/1
`},
		{"list of list of three levels", `optional group a (LIST) { repeated group list { required group element (LIST) { repeated group list { required int32 element; } } } }`, `
a list? 1 2/1
  element list 2 3/2
    element int32 3/2 leaf 0 3/2
`},
		{"bare repeated leaf", `repeated int32 a;`, `
a list 0 1/1
  element int32 1/1 leaf 0 1/1
`},
		{"bare repeated group", `repeated group a { optional int32 x; required group y { repeated float z; } }`, `
a list 0 1/1
  element struct 1/1
    x int32? 2/1 leaf 0 2/1
    y struct 1/1
      z list 1 2/2
        element float 2/2 leaf 1 2/2
`},
		{"annotated and repeated", `repeated group a (LIST) { repeated group list { optional int32 element; } }`, `
a list 0 1/1
  element list 1 2/2
    element int32? 3/2 leaf 0 3/2
`},
		{"map", `optional group m (MAP) { repeated group key_value { required binary key (UTF8); optional int32 value; } }`, `
m map? 1 2/1
  key_value struct 2/1
    key string 2/1 leaf 0 2/1
    value int32? 3/1 leaf 1 3/1
`},
		{"map by MAP_KEY_VALUE, odd names, inner annotation", `optional group m (MAP_KEY_VALUE) { repeated group map (MAP_KEY_VALUE) { required binary str (UTF8); required int32 num; } }`, `
m map? 1 2/1
  key_value struct 2/1
    key string 2/1 leaf 0 2/1
    value int32 2/1 leaf 1 2/1
`},
		{"map with optional keys, of structs", `required group m (:MAP) { repeated group key_value { optional int32 key; optional group value { required float x; } } }`, `
m map 0 1/1
  key_value struct 1/1
    key int32? 2/1 leaf 0 2/1
    value struct? 2/1
      x float 2/1 leaf 1 2/1
`},
		{"map without values is a list of keys", `optional group m (MAP) { repeated group key_value { required binary key (UTF8); } }`, `
m list? 1 2/1
  element string 2/1 leaf 0 2/1
`},
		{"map of three is a struct", `optional group m (MAP) { repeated group key_value { required int32 a; required int32 b; required int32 c; } }`, `
m struct? 1/0
  key_value list 1 2/1
    element struct 2/1
      a int32 2/1 leaf 0 2/1
      b int32 2/1 leaf 1 2/1
      c int32 2/1 leaf 2 2/1
`},
		{"list without a repeated member is a struct", `optional group a (LIST) { optional group list { optional int32 element; } }`, `
a struct? 1/0
  list struct? 2/0
    element int32? 3/0 leaf 0 3/0
`},
		{"list of two members is a struct", `optional group a (LIST) { repeated int32 x; repeated int32 y; }`, `
a struct? 1/0
  x list 1 2/1
    element int32 2/1 leaf 0 2/1
  y list 1 2/1
    element int32 2/1 leaf 1 2/1
`},
		{"groups without leaves are left out", `optional group a { optional group b { } } required int32 c; optional group m (MAP) { repeated group kv { required int32 key; optional group value { } } } optional group l (LIST) { repeated group list { optional group element { } } }`, `
c int32 0/0 leaf 0 0/0
m list? 1 2/1
  element int32 2/1 leaf 1 2/1
`},
		{"names may repeat", `required int32 a; required int64 a;`, `
a int32 0/0 leaf 0 0/0
a int64 0/0 leaf 1 0/0
`},
		{"unknown", `optional int32 a (:UNKNOWN); optional group l (LIST) { repeated group list { optional int32 element (:UNKNOWN); } }`, `
a null? 1/0 leaf 0 1/0
l list? 1 2/1
  element null? 3/1 leaf 1 3/1
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := "\n" + dumpNodes(fileSchemaOf(t, c.schema).Columns); got != c.want {
				t.Errorf("got%swant%s", got, c.want)
			}
		})
	}
}

func TestSchemaPaths(t *testing.T) {
	s := fileSchemaOf(t, `optional group a (LIST) { repeated group bag { optional group item { optional int32 b; } } }
		optional group m (MAP) { repeated group kv { required int32 k; optional int32 v; } }`)
	for _, want := range []string{"a", "a.bag.item", "a.bag.item.b", "m", "m.kv", "m.kv.k", "m.kv.v"} {
		found := false
		var walk func(nodes []*Node)
		walk = func(nodes []*Node) {
			for _, n := range nodes {
				found = found || n.path == want
				walk(n.Children)
			}
		}
		walk(s.Columns)
		if !found {
			t.Errorf("no node %q", want)
		}
	}
}

func TestLogicalTypes(t *testing.T) {
	for _, c := range []struct{ element, want string }{
		{`boolean x;`, "bool 1"},
		{`int32 x;`, "int32 4"},
		{`int32 x (INT_8);`, "int8 1 narrow"},
		{`int32 x (INT_16);`, "int16 2 narrow"},
		{`int32 x (INT_32);`, "int32 4"},
		{`int32 x (UINT_8);`, "uint8 1 narrow"},
		{`int32 x (UINT_16);`, "uint16 2 narrow"},
		{`int32 x (UINT_32);`, "uint32 4"},
		{`int32 x (:INTEGER(8,signed));`, "int8 1 narrow"},
		{`int32 x (:INTEGER(16,unsigned));`, "uint16 2 narrow"},
		{`int32 x (:INTEGER(32,unsigned));`, "uint32 4"},
		{`int32 x (:INTEGER(64,unsigned));`, "int32 4"},
		{`int32 x (UTF8);`, "int32 4"},
		{`int32 x (DATE);`, "date 4"},
		{`int32 x (:DATE);`, "date 4"},
		{`int32 x (TIME_MILLIS);`, "time(ms, UTC) 8 widen int"},
		{`int32 x (:TIME(ms,local));`, "time(ms, local) 8 widen int"},
		{`int32 x (DECIMAL(9,2));`, "decimal(9,2) 8 decimal"},
		{`int64 x;`, "int64 8"},
		{`int64 x (INT_64);`, "int64 8"},
		{`int64 x (UINT_64);`, "uint64 8"},
		{`int64 x (:INTEGER(64,unsigned));`, "uint64 8"},
		{`int64 x (:INTEGER(8,unsigned));`, "int64 8"},
		{`int64 x (TIMESTAMP_MILLIS);`, "timestamp(ms, UTC) 8"},
		{`int64 x (TIMESTAMP_MICROS);`, "timestamp(us, UTC) 8"},
		{`int64 x (:TIMESTAMP(ms,local));`, "timestamp(ms, local) 8"},
		{`int64 x (:TIMESTAMP(us,utc));`, "timestamp(us, UTC) 8"},
		{`int64 x (:TIMESTAMP(ns,local));`, "timestamp(ns, local) 8"},
		{`int64 x (TIME_MICROS);`, "time(us, UTC) 8"},
		{`int64 x (:TIME(us,local));`, "time(us, local) 8"},
		{`int64 x (:TIME(ns,utc));`, "time(ns, UTC) 8"},
		{`int64 x (DECIMAL(18,0));`, "decimal(18,0) 8"},
		{`int64 x (:DECIMAL(19,3));`, "decimal(19,3) 16 decimal"},
		{`int96 x;`, "int96 12"},
		{`float x;`, "float 4"},
		{`double x;`, "double 8"},
		{`binary x;`, "binary 0"},
		{`binary x (UTF8);`, "string 0"},
		{`binary x (:STRING);`, "string 0"},
		{`binary x (ENUM);`, "enum 0"},
		{`binary x (:ENUM);`, "enum 0"},
		{`binary x (JSON);`, "json 0"},
		{`binary x (:JSON);`, "json 0"},
		{`binary x (BSON);`, "bson 0"},
		{`binary x (:BSON);`, "bson 0"},
		{`binary x (:VARIANT);`, "binary 0"},
		{`binary x (DECIMAL(38,10));`, "decimal(38,10) 16 decimal"},
		{`binary x (:DECIMAL(76,76));`, "decimal(76,76) 32 decimal"},
		{`binary x (:DECIMAL(77,5));`, "decimal(77,5) 0"},
		{`fixed(40) x (:DECIMAL(90,5));`, "decimal(90,5) 0 decimal"},
		{`fixed(5) x (DECIMAL(10,0));`, "decimal(10,0) 8 decimal"},
		{`fixed(32) x (:DECIMAL(60,1));`, "decimal(60,1) 32 decimal"},
		{`fixed(3) x;`, "fixed binary(3) 3"},
		{`fixed(16) x (:UUID);`, "uuid 16"},
		{`fixed(15) x (:UUID);`, "fixed binary(15) 15"},
		{`fixed(2) x (:FLOAT16);`, "float16 2"},
		{`fixed(12) x (INTERVAL);`, "interval 12"},
		{`fixed(12) x (UTF8);`, "fixed binary(12) 12"},
		{`double x (:UNKNOWN);`, "null 0"},
		{`float x (DECIMAL(9,2));`, "float 4"},
	} {
		t.Run(c.element, func(t *testing.T) {
			n := fileSchemaOf(t, "required "+c.element).Columns[0]
			got := fmt.Sprintf("%v %d", n.Field, n.Field.Width)
			if n.Leaf.Convert != ConvertNone {
				got += " " + []string{"", "narrow", "widen int", "widen uint", "widen float", "decimal", "null"}[n.Leaf.Convert]
			}
			if got != c.want {
				t.Errorf("%s is %s, want %s", c.element, got, c.want)
			}
			if fixed := n.Field.Kind == column.Fixed; fixed != (n.Field.Width > 0) {
				t.Errorf("%s has kind %d and width %d", c.element, n.Field.Kind, n.Field.Width)
			}
		})
	}
}

func TestSchemaErrors(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`required int32 x (DECIMAL(0,0));`, `column "x": decimal of 0 digits, 0 of them fractional`},
		{`optional group s { required binary x (:DECIMAL(3,4)); }`, `column "s.x": decimal of 3 digits, 4 of them fractional`},
		{`required fixed(0) x;`, `a fixed length of 0 bytes`},
		{strings.Repeat("required group g { ", 1001) + "required int32 x; " + strings.Repeat("} ", 1001), "nested over 1000 deep"},
	} {
		t.Run(c.schema, func(t *testing.T) {
			if _, err := tryFileSchema(t, c.schema); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%.60s: error %v, want %q", c.schema, err, c.want)
			}
		})
	}
}

func TestFieldString(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`required group a (LIST) { repeated group list { optional group element { required int32 x; optional binary y (UTF8); } } }`, "list<struct<x: int32, y: string>>"},
		{`optional group m (MAP) { repeated group key_value { required fixed(16) k (:UUID); optional double v; } }`, "map<uuid, double>"},
		{`required fixed(7) a;`, "fixed binary(7)"},
		{`required int64 a (:DECIMAL(12,3));`, "decimal(12,3)"},
		{`required int64 a (:TIMESTAMP(ns,local));`, "timestamp(ns, local)"},
		{`required int32 a (TIME_MILLIS);`, "time(ms, UTC)"},
	} {
		t.Run(c.schema, func(t *testing.T) {
			if got := fileSchemaOf(t, c.schema).Columns[0].Field.String(); got != c.want {
				t.Errorf("%s is %s, want %s", c.schema, got, c.want)
			}
		})
	}
	f := &column.Field{Kind: column.List, ListSize: 4, Children: []*column.Field{{Kind: column.Fixed, Type: column.TypeFloat32}}}
	if got := f.String(); got != "list<float>[4]" {
		t.Errorf("a list of four is %s", got)
	}
	for typ := column.TypeNone; typ <= column.TypeBSON; typ++ {
		if typ.String() == "" {
			t.Errorf("type %d has no name", typ)
		}
	}
	if got := column.Type(200).String(); got != "type 200" {
		t.Errorf("an unknown type is %s", got)
	}
}
