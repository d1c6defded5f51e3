package rowgroup

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rule"
)

// rulePaths are columns of everyRow of every kind that a rule can read.
var rulePaths = []string{
	"bool", "opt_bool", "i8", "u16", "opt_i32", "delta_i32", "dict_i32", "dict_i64", "f32", "f64", "dict_f64", "uuid", "dict_fixed",
	"text", "opt_text", "lengths", "prefixes", "dict_text", "bytes", "tokens", "pair", "bare", "dict_items", "words", "opt_list", "null_items",
	"group", "group.a", "group.b", "opt_group", "opt_group.a", "opt_group.b", "groups", "lists", "map", "map_of_group",
}

func ruleColumns(paths []string, lengths bool) []RuleColumn {
	all := make([]RuleColumn, len(paths))
	for i, p := range paths {
		all[i] = RuleColumn{Path: p, Lengths: lengths}
	}
	return all
}

// shown writes value i of a rule column as dump writes that of a vector; of a list that is read for
// its length, the length, and of a struct, that it is there.
func shown(c *rule.Column, i int, whole bool) string {
	for _, b := range c.Present {
		if b[i>>3]>>(i&7)&1 == 0 {
			return "null"
		}
	}
	a := c.Values
	switch {
	case c.Codes == nil && a.Nulls >= a.Len:
		return "null"
	case c.Constant:
		i = 0
	case c.Codes != nil:
		code := 0
		for k := range c.CodeWidth {
			code |= int(c.Codes[i*c.CodeWidth+k]) << (8 * k)
		}
		i = code
	case a.IsNull(i):
		return "null"
	}
	switch a.Field.Kind {
	case column.Fixed:
		w := a.Field.Width
		return hex.EncodeToString(a.Data[i*w : i*w+w])
	case column.Binary:
		return fmt.Sprintf("%q", a.Data[a.Offsets[i]:a.Offsets[i+1]])
	case column.Struct:
		return "struct"
	}
	lo, hi := a.Items(i)
	if !whole {
		return fmt.Sprint(hi-lo, " items")
	}
	var items []string
	for k := lo; k < hi; k++ {
		items = append(items, shownItem(a.Children[0], k))
	}
	return "[" + strings.Join(items, " ") + "]"
}

func shownItem(a *column.Array, i int) string {
	if a.Field.Kind == column.Struct && !a.IsNull(i) {
		var parts []string
		for _, c := range a.Children {
			parts = append(parts, shownItem(c, i))
		}
		return "{" + strings.Join(parts, " ") + "}"
	}
	return shown(&rule.Column{Values: a}, i, true)
}

// wantShown is what shown writes, of a decoded block.
func wantShown(v *block.Vector, path string, i int, whole bool) string {
	i = v.Place(i)
	for _, name := range strings.Split(path, ".")[1:] {
		if v.Nulls > 0 && v.IsNull(i) {
			return "null"
		}
		v = v.Children[slices.IndexFunc(v.Field.Children, func(f *column.Field) bool { return f.Name == name })]
	}
	switch text := dump(v, i); {
	case text == "null":
		return text
	case v.Field.Kind == column.Struct:
		return "struct"
	case !whole && (v.Field.Kind == column.List || v.Field.Kind == column.Map):
		return fmt.Sprint(len(dumpItems(v, i)), " items")
	default:
		return text
	}
}

// Rule columns have the values that a block has, whether or not they are delivered, in whole groups
// and slices, fetched with the others or alone; and the block is the same as without rules.
func TestDecodeRule(t *testing.T) {
	rows := randomRows(11, 300)
	for version := 1; version <= 2; version++ {
		file := writeRows(t, [][]everyRow{rows}, parquet.DataPageVersion(version), parquet.PageBufferSize(900), parquet.Compression(&parquet.Snappy))
		for _, columns := range [][]string{nil, {"i32"}} {
			for _, lengths := range []bool{true, false} {
				for _, u := range []Rows{{Hi: 300}, {Lo: 37, Hi: 211}, {Lo: 40, Hi: 41}, {Lo: 5, Hi: 5}} {
					t.Run(fmt.Sprintf("v%d columns %v lengths %v rows %d-%d", version, columns, lengths, u.Lo, u.Hi), func(t *testing.T) {
						checkRule(t, file, Options{Columns: columns, RuleColumns: ruleColumns(rulePaths, lengths)}, u)
					})
				}
			}
		}
	}
}

func checkRule(t *testing.T, file []byte, o Options, u Rows) {
	t.Helper()
	all := openBytes(t, Options{}, map[string][]byte{"a.parquet": file})
	m, d := openDecoder(t, file, o)
	plain := openBytes(t, Options{Columns: o.Columns}, map[string][]byte{"a.parquet": file})
	n := int(u.Hi - u.Lo)
	order := make([]uint32, 0, n)
	for i := n - 1; i >= 0; i -= 2 {
		order = append(order, uint32(i))
	}
	for _, l := range []Layout{{}, {Order: order}} {
		alone, err := m.FetchRule(context.Background(), u)
		if err != nil {
			t.Fatal(err)
		}
		defer alone.Release()
		both := fetch(t, m, u)
		want, err := d.whole(fetch(t, all, u), Layout{})
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range []*Raw{alone, both} {
			columns, err := d.DecodeRule(raw)
			if err != nil {
				t.Fatal(err)
			}
			compareRule(t, all, want, columns, o.RuleColumns, n)
		}
		want.Release()
		got, err := d.whole(both, l)
		if err != nil {
			t.Fatal(err)
		}
		expected, err := d.whole(fetch(t, plain, u), l)
		if err != nil {
			t.Fatal(err)
		}
		for c, v := range block.Columns(expected) {
			for i := range got.Rows() {
				if a, b := dump(block.Columns(got)[c], block.Columns(got)[c].Place(i)), dump(v, v.Place(i)); a != b {
					t.Fatalf("column %q, row %d: %s, want %s", v.Field.Name, i, a, b)
				}
			}
			if (v.Codes == nil) != (block.Columns(got)[c].Codes == nil) {
				t.Errorf("column %q is stored in another form than without rules", v.Field.Name)
			}
		}
		got.Release()
		expected.Release()
	}
}

// compareRule holds rule columns against a block of all columns.
func compareRule(t *testing.T, m *Reader, want *Block, columns []rule.Column, asked []RuleColumn, rows int) {
	t.Helper()
	if len(columns) != len(asked) {
		t.Fatalf("%d columns, want %d", len(columns), len(asked))
	}
	for k, a := range asked {
		top, _, _ := strings.Cut(a.Path, ".")
		at := slices.IndexFunc(m.Schema().Fields, func(f *column.Field) bool { return f.Name == top })
		for i := range rows {
			if got, want := shown(&columns[k], i, !a.Lengths), wantShown(block.Columns(want)[at], a.Path, i, !a.Lengths); got != want {
				t.Fatalf("column %s, row %d: %s, want %s", a.Path, i, got, want)
			}
		}
	}
}

// A list of structs of which no wanted member is in a file has lengths, and its structs are there.
func TestDecodeRuleMissingMember(t *testing.T) {
	type both struct{ A, B int32 }
	type withBoth struct {
		L []both `parquet:"l,list"`
	}
	type one struct{ A int32 }
	type withOne struct {
		L []one `parquet:"l,list"`
	}
	files := map[string][]byte{
		"a.parquet": writeRows(t, [][]withBoth{{{L: []both{{1, 2}}}, {}}}),
		"b.parquet": writeRows(t, [][]withOne{{{L: []one{{3}, {4}}}, {}}}),
	}
	m := openBytes(t, Options{Columns: []string{"l.B"}, RuleColumns: ruleColumns([]string{"l"}, true), MissingIsNull: true}, files)
	d := m.NewDecoder()
	defer d.Close()
	raw := fetch(t, m, Rows{Shard: 1, Hi: 2})
	columns, err := d.DecodeRule(raw)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := shown(&columns[0], 0, false), shown(&columns[0], 1, false); a != "2 items" || b != "0 items" {
		t.Errorf("lengths %s and %s", a, b)
	}
	decoded, err := d.whole(raw, Layout{})
	if err != nil {
		t.Fatal(err)
	}
	defer decoded.Release()
	if got := dump(block.Columns(decoded)[0], 0); got != "[{null} {null}]" {
		t.Errorf("got %s", got)
	}
}

// What DecodeRule holds stays under what RuleBytes predicts, fetched alone or with the others.
func TestRuleBytes(t *testing.T) {
	for _, n := range []int{10, 3000} {
		file := writeRows(t, [][]everyRow{randomRows(12, n)}, parquet.PageBufferSize(4000), parquet.Compression(&parquet.Zstd))
		for _, path := range rulePaths {
			for _, o := range []Options{
				{RuleColumns: ruleColumns([]string{path}, true)},
				{RuleColumns: ruleColumns([]string{path}, false)},
				{RuleColumns: ruleColumns([]string{path}, true), Columns: []string{"i32"}},
			} {
				t.Run(fmt.Sprint(n, " ", path, " ", o.RuleColumns[0].Lengths, " ", o.Columns), func(t *testing.T) {
					m, d := openDecoder(t, file, o)
					fetched, decoded := m.RuleBytes(0)
					alone, err := m.FetchRule(context.Background(), Rows{Hi: int64(n)})
					if err != nil {
						t.Fatal(err)
					}
					defer alone.Release()
					if alone.Bytes() != fetched {
						t.Errorf("%d bytes fetched, predicted %d", alone.Bytes(), fetched)
					}
					for _, raw := range []*Raw{alone, fetch(t, m, Rows{Hi: int64(n)})} {
						if _, err := d.DecodeRule(raw); err != nil {
							t.Fatal(err)
						}
						held := d.held.arena.Bytes()
						for _, s := range d.held.shared {
							held += s.values.Bytes() + s.dict.Bytes()
						}
						if held > decoded {
							t.Errorf("%d bytes held, predicted %d", held, decoded)
						}
					}
				})
			}
		}
	}
}
