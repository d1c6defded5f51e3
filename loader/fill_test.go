package loader

import (
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

// bare is an array as those see it who do not look at its validity.
func bare(a *column.Array) {
	a.Valid, a.Nulls = nil, 0
	for _, c := range a.Children {
		bare(c)
	}
}

func TestFill(t *testing.T) {
	floats := fixed("x", column.TypeFloat32, 4)
	doubles := fixed("x", column.TypeFloat64, 8)
	pair := &column.Field{Name: "x", Kind: column.Struct, Nullable: true, Children: []*column.Field{int32s("a"), fixed("b", column.TypeFloat64, 8)}}
	for _, c := range []struct {
		name  string
		field *column.Field
		rows  string
		o     Options
		want  string
	}{
		{"zero", int32s("x"), `[1,null,3]`, Options{NaN: true}, `[1,0,3]`},
		{"value", int32s("x"), `[1,null,3]`, Options{Fill: []Fill{{"x", -7}}}, `[1,-7,3]`},
		{"value, no nulls", int32s("x"), `[1,2]`, Options{Fill: []Fill{{"x", -7}}}, `[1,2]`},
		{"beyond eight", int32s("x"), `[1,2,3,4,5,6,7,null,null,10,null]`, Options{Fill: []Fill{{"x", -7}}}, `[1,2,3,4,5,6,7,-7,-7,10,-7]`},
		{"float, zero", floats, `[1.5,null]`, Options{}, `[1.5,0]`},
		{"float, NaN", floats, `[1.5,null]`, Options{NaN: true}, `[1.5,NaN]`},
		{"float, value wins", floats, `[1.5,null]`, Options{NaN: true, Fill: []Fill{{"x", 2.5}}}, `[1.5,2.5]`},
		{"double", doubles, `[null,1]`, Options{NaN: true}, `[NaN,1]`},
		{"items", listed("x", 0, fixed("item", column.TypeFloat64, 8)), `[[1,null],null,[],[null]]`, Options{NaN: true}, `[[1,NaN],[],[],[NaN]]`},
		{"items", listed("x", 0, int32s("item")), `[[1,null],null,[null]]`, Options{Fill: []Fill{{"x", 4}}}, `[[1,4],[],[4]]`},
		{"items by name", listed("x", 0, int32s("item")), `[[1,null],null,[null]]`, Options{Fill: []Fill{{"x.item", 4}}}, `[[1,4],[],[4]]`},
		{"fixed-size lists", listed("x", 2, fixed("item", column.TypeFloat32, 4)), `[[1,null],[2,3]]`, Options{NaN: true}, `[[1,NaN],[2,3]]`},
		{"null lists of a size, NaN", listed("x", 2, fixed("item", column.TypeFloat32, 4)), `[[1,null],null,[2,3]]`, Options{NaN: true}, `[[1,NaN],[NaN,NaN],[2,3]]`},
		{"null lists of a size", listed("x", 2, int32s("item")), `[null,[1,null],null]`, Options{Fill: []Fill{{"x", -7}}}, `[[-7,-7],[1,-7],[-7,-7]]`},
		{"members", pair, `[{"a":1,"b":null},{"a":null,"b":2}]`, Options{NaN: true, Fill: []Fill{{"x.a", 9}}}, `[{"a":1,"b":NaN},{"a":9,"b":2}]`},
		{"members by a pattern", pair, `[{"a":1,"b":null},{"a":null,"b":2}]`, Options{Fill: []Fill{{"x.?", 9}, {"x.b", 7}}}, `[{"a":1,"b":7},{"a":9,"b":2}]`},
		{"texts", texts("x"), `["a",null,"ccc",null]`, Options{Fill: []Fill{{"x", "none"}}}, `["a","none","ccc","none"]`},
		{"texts, bytes", texts("x"), `[null]`, Options{Fill: []Fill{{"x", []byte("z")}}}, `["z"]`},
		{"texts, empty", texts("x"), `["a",null]`, Options{Fill: []Fill{{"x", ""}}}, `["a",""]`},
		{"texts in lists", listed("x", 0, texts("item")), `[["a",null],[null,"b"]]`, Options{Fill: []Fill{{"x.item", "?"}}}, `[["a","?"],["?","b"]]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			schema := &column.Schema{Fields: []*column.Field{c.field}}
			c.o.Fill = expandFills(schema, c.o.Fill)
			fillers, err := bindFills(c.o, schema)
			if err != nil {
				t.Fatal(err)
			}
			a := build(t, c.field, c.rows)
			valid, nulls := slices.Clone(a.Valid), a.Nulls
			if err := fillers[0].apply(a, (&heapMemory{}).Alloc); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(a.Valid, valid) || a.Nulls != nulls {
				t.Error("the validity changed")
			}
			bare(a)
			if got := show(a); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestFillRefuses(t *testing.T) {
	schema := &column.Schema{Fields: []*column.Field{
		int32s("a"), texts("s"), listed("l", 0, int32s("item")), int32s("twice"), int32s("twice"),
		{Name: "n", Kind: column.Null},
		{Name: "p", Kind: column.Struct, Children: []*column.Field{int32s("a")}},
	}}
	for _, c := range []struct {
		fill []Fill
		want string
	}{
		{[]Fill{{"b", 1}}, `Fill["b"] does not apply: no such column is read; there is "a"`},
		{[]Fill{{"a", 1.5}}, `Fill["a"] does not apply: items are int32, which does not hold 1.5 (float64) exactly`},
		{[]Fill{{"a", "1"}}, `Fill["a"] does not apply: items are int32, which does not hold "1" exactly`},
		{[]Fill{{"a", 1}, {"a", 2}}, `Fill["a"] does not apply: it is filled twice`},
		{[]Fill{{"s", 1}}, `Fill["s"] does not apply: it is string, which does not hold 1 (int)`},
		{[]Fill{{"p", 1}}, `Fill["p"] does not apply: it is struct<a: int32>; name the values within it`},
		{[]Fill{{"l.element", 1}}, `Fill["l.element"] does not apply: no such column is read`},
		{[]Fill{{"twice", 1}}, `Fill["twice"] does not apply: the schema has more than one column of that name`},
		{[]Fill{{"n", 1}}, `Fill["n"] does not apply: it has no type, and so no values`},
	} {
		_, err := bindFills(Options{Fill: c.fill}, schema)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.fill, err, c.want)
		}
	}
}
