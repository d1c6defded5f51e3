package loader

import (
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
)

func TestPad(t *testing.T) {
	ids := listed("ids", 0, int32s("item"))
	rows := `[[1,2,3],null,[],[4],[5,6]]`
	floats := listed("ids", 0, fixed("item", column.TypeFloat32, 4))
	boxes := listed("ids", 0, listed("item", 2, int32s("item")))
	for _, c := range []struct {
		name    string
		field   *column.Field
		rows    string
		p       Padding
		dense   string
		lengths string
		mask    string
	}{
		{
			name: "longest", field: ids, rows: rows, dense: `[[1,2,3],null,[0,0,0],[4,0,0],[5,6,0]]`, lengths: `[3,0,0,1,2]`,
			mask: `[[true,true,true],[false,false,false],[false,false,false],[true,false,false],[true,true,false]]`,
		},
		{name: "value", field: ids, rows: rows, p: Padding{Value: -100}, dense: `[[1,2,3],null,[-100,-100,-100],[4,-100,-100],[5,6,-100]]`, lengths: `[3,0,0,1,2]`},
		{
			name: "left", field: ids, rows: rows, p: Padding{Value: 9, Left: true}, dense: `[[1,2,3],null,[9,9,9],[9,9,4],[9,5,6]]`, lengths: `[3,0,0,1,2]`,
			mask: `[[true,true,true],[false,false,false],[false,false,false],[false,false,true],[false,true,true]]`,
		},
		{name: "multiple", field: ids, rows: rows, p: Padding{Multiple: 4}, dense: `[[1,2,3,0],null,[0,0,0,0],[4,0,0,0],[5,6,0,0]]`, lengths: `[3,0,0,1,2]`},
		{name: "multiple that fits", field: ids, rows: rows, p: Padding{Multiple: 3}, dense: `[[1,2,3],null,[0,0,0],[4,0,0],[5,6,0]]`, lengths: `[3,0,0,1,2]`},
		{name: "max", field: ids, rows: rows, p: Padding{Max: 2}, dense: `[[1,2],null,[0,0],[4,0],[5,6]]`, lengths: `[2,0,0,1,2]`},
		{name: "max, cut left", field: ids, rows: rows, p: Padding{Max: 2, CutLeft: true}, dense: `[[2,3],null,[0,0],[4,0],[5,6]]`, lengths: `[2,0,0,1,2]`},
		{name: "max above the longest", field: ids, rows: rows, p: Padding{Max: 8}, dense: `[[1,2,3],null,[0,0,0],[4,0,0],[5,6,0]]`, lengths: `[3,0,0,1,2]`},
		{name: "to max", field: ids, rows: rows, p: Padding{Max: 4, ToMax: true}, dense: `[[1,2,3,0],null,[0,0,0,0],[4,0,0,0],[5,6,0,0]]`, lengths: `[3,0,0,1,2]`},
		{
			name: "all empty", field: ids, rows: `[[],null,[]]`, p: Padding{Value: 7}, dense: `[[7],null,[7]]`, lengths: `[0,0,0]`,
			mask: `[[false],[false],[false]]`,
		},
		{name: "all empty, multiple", field: ids, rows: `[[]]`, p: Padding{Multiple: 2}, dense: `[[0,0]]`, lengths: `[0]`},
		{name: "no rows", field: ids, rows: `[]`, dense: `[]`, lengths: `[]`, mask: `[]`},
		{name: "null items", field: ids, rows: `[[1,null,3],[null],[]]`, p: Padding{Value: 5, Left: true}, dense: `[[1,null,3],[5,5,null],[5,5,5]]`, lengths: `[3,1,0]`},
		{name: "null items cut away", field: ids, rows: `[[1,null],[2]]`, p: Padding{Max: 1}, dense: `[[1],[2]]`, lengths: `[1,1]`},
		{name: "floats", field: floats, rows: `[[1.5],[2,3]]`, p: Padding{Value: -0.5}, dense: `[[1.5,-0.5],[2,3]]`, lengths: `[1,2]`},
		{
			name: "fixed-size lists", field: boxes, rows: `[[[1,2],[3,4]],[],[[5,6]]]`, p: Padding{Value: 8}, dense: `[[[1,2],[3,4]],[[8,8],[8,8]],[[5,6],[8,8]]]`, lengths: `[2,0,1]`,
			mask: `[[true,true],[false,false],[true,false]]`,
		},
		{name: "null items of fixed-size lists", field: boxes, rows: `[[],[[1,2],[3,null]],[[null,6]]]`, dense: `[[[0,0],[0,0]],[[1,2],[3,null]],[[null,6],[0,0]]]`, lengths: `[0,2,1]`},
		{name: "fixed-size lists with nulls", field: boxes, rows: `[[[1,null],null],[[5,6]]]`, p: Padding{Left: true}, dense: `[[[1,null],null],[[0,0],[5,6]]]`, lengths: `[2,1]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.p.Column = "ids"
			if c.mask != "" {
				c.p.Mask = "mask"
			}
			checkPad(t, c.p, build(t, c.field, c.rows), c.dense, c.lengths, c.mask)
		})
	}
}

// Lists of lists become dense at each level.
func TestPadLevels(t *testing.T) {
	grid := listed("ids", 0, listed("item", 0, int32s("item")))
	rows := `[[[1],[2,3]],null,[],[[],[4,5,6],null]]`
	within := func(p Padding, sizes ...PadSize) Padding {
		p.Within = sizes
		return p
	}
	for _, c := range []struct {
		name    string
		field   *column.Field
		rows    string
		p       Padding
		dense   string
		lengths string // of both levels
		mask    string
	}{
		{
			name: "longest", field: grid, rows: rows, p: Padding{Value: -1}, lengths: `[2,0,0,3] [[1,2,0],[0,0,0],[0,0,0],[0,3,0]]`,
			dense: `[[[1,-1,-1],[2,3,-1],[-1,-1,-1]],null,[[-1,-1,-1],[-1,-1,-1],[-1,-1,-1]],[[-1,-1,-1],[4,5,6],null]]`,
			mask:  `[[[true,false,false],[true,true,false],[false,false,false]],[[false,false,false],[false,false,false],[false,false,false]],[[false,false,false],[false,false,false],[false,false,false]],[[false,false,false],[true,true,true],[false,false,false]]]`,
		},
		{
			name: "left", field: grid, rows: `[[[1],[2,3]],[[4]]]`, p: Padding{Left: true}, lengths: `[2,1] [[1,2],[0,1]]`,
			dense: `[[[0,1],[2,3]],[[0,0],[0,4]]]`, mask: `[[[false,true],[true,true]],[[false,false],[false,true]]]`,
		},
		{name: "max of both", field: grid, rows: `[[[1,2],[3,4],[5]],[[6]]]`, p: Padding{Max: 2}, dense: `[[[1,2],[3,4]],[[6,0],[0,0]]]`, lengths: `[2,1] [[2,2],[1,0]]`},
		{
			name: "max of each, cut left", field: grid, rows: `[[[1,2],[3,4],[5]],[[6]]]`, p: within(Padding{Max: 2, CutLeft: true}, PadSize{Max: 1}),
			dense: `[[[4],[5]],[[6],[0]]]`, lengths: `[2,1] [[1,1],[1,0]]`,
		},
		{name: "bound of the inner alone", field: grid, rows: `[[[1,2],[3,4],[5]]]`, p: within(Padding{}, PadSize{Max: 1}), dense: `[[[1],[3],[5]]]`, lengths: `[3] [[1,1,1]]`},
		{name: "to max", field: grid, rows: `[[[1]]]`, p: within(Padding{Max: 2, ToMax: true}, PadSize{Max: 3}), dense: `[[[1,0,0],[0,0,0]]]`, lengths: `[1] [[1,0]]`},
		{name: "multiples", field: grid, rows: `[[[1]]]`, p: within(Padding{Multiple: 2}, PadSize{Multiple: 3}), dense: `[[[1,0,0],[0,0,0]]]`, lengths: `[1] [[1,0]]`},
		{name: "all empty", field: grid, rows: `[[],null]`, p: Padding{Value: 7}, dense: `[[[7]],null]`, lengths: `[0,0] [[0],[0]]`},
		{name: "no rows", field: grid, rows: `[]`, dense: `[]`, lengths: `[] []`},
		{name: "null items", field: grid, rows: `[[[1,null]],[[null],[2]]]`, p: Padding{Left: true}, dense: `[[[0,0],[1,null]],[[0,null],[0,2]]]`, lengths: `[1,2] [[0,2],[1,1]]`},
		{
			name: "fixed-size lists within", field: listed("ids", 0, listed("item", 0, listed("item", 2, int32s("item")))),
			rows: `[[[[1,2]],[[3,4],[5,null]]],[]]`, lengths: `[2,0] [[1,2],[0,0]]`,
			dense: `[[[[1,2],[0,0]],[[3,4],[5,null]]],[[[0,0],[0,0]],[[0,0],[0,0]]]]`,
		},
		{
			name: "fixed-size lists around", field: listed("ids", 2, listed("item", 0, int32s("item"))), rows: `[[[1],[2,3]],[[],[4]]]`, p: Padding{Max: 5, Multiple: 5},
			dense: `[[[1,0,0,0,0],[2,3,0,0,0]],[[0,0,0,0,0],[4,0,0,0,0]]]`, lengths: `[2,2] [[1,2],[0,1]]`,
		},
		{
			name: "three levels", field: listed("ids", 0, listed("item", 0, listed("item", 0, int32s("item")))), rows: `[[[[1],[2,3]]],[[[]],[[4]]]]`,
			dense: `[[[[1,0],[2,3]],[[0,0],[0,0]]],[[[0,0],[0,0]],[[4,0],[0,0]]]]`, lengths: `[1,2] [[2,0],[1,1]]`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.p.Column = "ids"
			if c.mask != "" {
				c.p.Mask = "mask"
			}
			checkPad(t, c.p, build(t, c.field, c.rows), c.dense, c.lengths, c.mask)
		})
	}
}

func TestPadSliced(t *testing.T) {
	whole := build(t, listed("ids", 0, int32s("item")), `[[1,2,3],[4,null],[],[5,6]]`)
	sliced := *whole
	sliced.Len, sliced.Offsets = 3, whole.Offsets[1:]
	checkPad(t, Padding{Column: "ids"}, &sliced, `[[4,null],[0,0],[5,6]]`, `[2,0,2]`, "")
}

// checkPad pads a batch of the one column, whose memory then goes, and compares.
func checkPad(t *testing.T, p Padding, a *column.Array, dense, lengths, mask string) {
	t.Helper()
	bound, err := bindPads([]Padding{p}, &column.Schema{Fields: []*column.Field{a.Field}})
	if err != nil {
		t.Fatal(err)
	}
	b := batchOf(a)
	scratch := new(mem.Pool).NewArena()
	if err := bound[0].pad(b, scratchOf(scratch)); err != nil {
		t.Fatal(err)
	}
	scratch.Free()
	spoil(a)
	first, second, _ := strings.Cut(lengths, " ")
	for _, want := range []struct{ column, values string }{{"ids", dense}, {"ids_lengths", first}, {"ids_lengths_2", second}, {p.Mask, mask}} {
		if want.column == "" || want.values == "" {
			continue
		}
		got, err := b.Column(want.column)
		if err != nil {
			t.Fatal(err)
		}
		if s := show(got); s != want.values {
			t.Errorf("%s:\n got %s\nwant %s", want.column, s, want.values)
		}
		if got.Len != b.Rows {
			t.Errorf("%s has %d rows, the batch %d", want.column, got.Len, b.Rows)
		}
	}
	checkNulls(t, b.Columns[0])
	if a := b.Columns[0]; a.Field.ListSize == 0 || a.Offsets != nil {
		t.Errorf("the column is not dense: %v", a.Field)
	}
}

// scratchOf is memory of an arena as padders take it.
func scratchOf(arena *mem.Arena) column.Alloc {
	return func(n int) ([]byte, error) { return arena.Alloc(n), nil }
}

// spoil overwrites an array's memory, as the next batch does.
func spoil(a *column.Array) {
	for i := range a.Offsets {
		a.Offsets[i] = -1
	}
	for _, b := range [][]byte{a.Valid, a.Data} {
		for i := range b {
			b[i] = 0x55
		}
	}
	for _, c := range a.Children {
		spoil(c)
	}
}

// checkNulls compares an array's count of nulls with its bits.
func checkNulls(t *testing.T, a *column.Array) {
	t.Helper()
	nulls := 0
	for i := range a.Len {
		if a.IsNull(i) {
			nulls++
		}
	}
	if nulls != a.Nulls || (a.Valid == nil) != (nulls == 0) {
		t.Errorf("%v: %d nulls, %d are counted, validity %v", a.Field, nulls, a.Nulls, a.Valid)
	}
	for _, c := range a.Children {
		checkNulls(t, c)
	}
}

func TestPadRefuses(t *testing.T) {
	schema := &column.Schema{Fields: []*column.Field{
		listed("ids", 0, int32s("item")), listed("vector", 4, int32s("item")), listed("names", 0, texts("item")),
		listed("nested", 0, listed("item", 0, int32s("item"))), int32s("label"), int32s("twice"), int32s("twice"),
		listed("bytes", 0, fixed("item", column.TypeUUID, 16)), int32s("nested_lengths_2"),
	}}
	for _, c := range []struct {
		pads []Padding
		want string
	}{
		{[]Padding{{Column: "id"}}, `Pad["id"] does not apply: no such column is read; there is "ids"`},
		{[]Padding{{Column: "vector"}}, `Pad["vector"] does not apply: it is list<int32>[4]; only ragged lists are padded`},
		{[]Padding{{Column: "label"}}, `Pad["label"] does not apply: it is int32; only ragged lists are padded`},
		{[]Padding{{Column: "names"}}, `Pad["names"] does not apply: it is list<string>; only lists of fixed-width values, or of lists of them, are padded`},
		{[]Padding{{Column: "nested"}}, `Pad["nested"] does not apply: there is a column "nested_lengths_2" already; name lengths and mask otherwise`},
		{[]Padding{{Column: "nested", Within: []PadSize{{}, {}}}}, `Pad["nested"] does not apply: it is list<list<int32>>, and sizes of 3 levels of lists are given; it has 2 that are padded`},
		{[]Padding{{Column: "nested", Max: 3, ToMax: true, Within: []PadSize{{}}}}, `Pad["nested"] does not apply: it is list<list<int32>>, and batches of one shape need the length of each level of lists`},
		{[]Padding{{Column: "twice"}}, `Pad["twice"] does not apply: the schema has more than one column of that name`},
		{[]Padding{{Column: "ids"}, {Column: "ids"}}, `Pad["ids"] does not apply: it is padded twice`},
		{[]Padding{{Column: "ids", Lengths: "label"}}, `Pad["ids"] does not apply: there is a column "label" already; name lengths and mask otherwise`},
		{[]Padding{{Column: "ids", Lengths: "m", Mask: "m"}}, `Pad["ids"] does not apply: there is a column "m" already; name lengths and mask otherwise`},
		{[]Padding{{Column: "ids", Value: 0.5}}, `Pad["ids"] does not apply: items are int32, which does not hold 0.5 (float64) exactly`},
		{[]Padding{{Column: "bytes", Value: 1}}, `Pad["bytes"] does not apply: items are uuid: give its text, or its 16 bytes, not 1 (int)`},
		{[]Padding{{Column: "id"}, {Column: "label"}}, "Pad[\"id\"] does not apply: no such column is read; there is \"ids\"\nPad[\"label\"] does not apply: it is int32; only ragged lists are padded"},
	} {
		_, err := bindPads(c.pads, schema)
		if err == nil || err.Error() != c.want {
			t.Errorf("%+v:\n got %v\nwant %s", c.pads, err, c.want)
		}
	}
}

func TestPadTooLarge(t *testing.T) {
	b := batchOf(build(t, listed("ids", 0, int32s("item")), `[[1],[2]]`))
	p := Padding{Column: "ids", Max: 1 << 40, ToMax: true}
	bound, err := bindPads([]Padding{p}, &column.Schema{Fields: []*column.Field{b.Columns[0].Field}})
	if err != nil {
		t.Fatal(err)
	}
	err = bound[0].pad(b, scratchOf(new(mem.Pool).NewArena()))
	if err == nil || !strings.Contains(err.Error(), "give a smaller max") {
		t.Errorf("got %v", err)
	}
}
