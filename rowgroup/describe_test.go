package rowgroup

import (
	"errors"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/shard"
)

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
			if got := fileSchemaOf(t, c.schema).columns[0].field.String(); got != c.want {
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

func TestErrorText(t *testing.T) {
	cause := errors.New("short")
	for _, c := range []struct {
		err  Error
		want string
	}{
		{Error{URI: "a", RowGroup: -1, Page: -1, Err: cause}, "a: short"},
		{Error{URI: "a", RowGroup: 0, Page: -1, Err: cause}, "a: row group 0: short"},
		{Error{URI: "a", RowGroup: -1, Column: "x.y", Page: -1, Err: cause}, `a: column "x.y": short`},
		{Error{URI: "a", RowGroup: 2, Column: "x", Page: 40, Err: cause, Hint: "try again"}, `a: row group 2, column "x", page at byte 40: short (try again)`},
		{Error{URI: "a", RowGroup: 1, Page: -1, Err: &shard.Error{Op: "read", URI: "a", Err: cause}}, "a: row group 1: read: short"},
		{Error{URI: "a", RowGroup: -1, Page: -1, Err: &shard.Error{Op: "read", URI: "b", Err: cause}}, "a: b: read: short"},
	} {
		if got := c.err.Error(); got != c.want || !errors.Is(&c.err, cause) {
			t.Errorf("error is %q, want %q", got, c.want)
		}
	}
}

func TestNearNames(t *testing.T) {
	n := indexNames(unite([]*fileSchema{fileSchemaOf(t, `required int32 price; required int32 Prize; required int32 title; optional group emb (LIST) { repeated group list { optional float element; } }
		required group meta { required int32 prices; }`)}))
	for _, c := range []struct{ path, want string }{
		{"pricee", `; there is "price", "Prize"`},
		{"PRICE", `; there is "price", "Prize"`},
		{"meta.price", `; there is "meta.prices"`},
		{"embeddings_of_the_title", `; there is "Prize", "emb", "meta", "price", "title"`},
	} {
		t.Run(c.path, func(t *testing.T) {
			if got := n.near(c.path); got != c.want {
				t.Errorf("near %q%s, want %s", c.path, got, c.want)
			}
		})
	}
}
