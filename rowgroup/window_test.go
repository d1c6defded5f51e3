package rowgroup

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	parquetgo "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// Any run of rows of a large page has the values that the whole page has there.
func TestWindowsOfPages(t *testing.T) {
	type inner struct {
		A *int64
		B string `parquet:",optional,dict"`
	}
	type row struct {
		ID    int64
		Maybe *int32 `parquet:",optional"`
		Flag  bool
		Text  string `parquet:",optional"`
		Word  string `parquet:",dict"`
		Code  *int64 `parquet:",optional,dict"`
		Fixed [3]byte
		Delta int64  `parquet:",delta"`
		In    *inner `parquet:",optional"`
		List  []int32
		Words []string   `parquet:",list"`
		Holes []*float32 `parquet:",list"`
		Pairs []inner    `parquet:",list"`
		Long  []float32
		Map   map[string]*int64
		Deep  []struct{ X []int16 }
	}
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]row, 3000)
	for i := range rows {
		rows[i] = row{ID: int64(i), Flag: r.IntN(3) == 0, Word: strings.Repeat("w", r.IntN(40)), Fixed: [3]byte{byte(i), 1, 2}, Delta: int64(i * i)}
		if long := i/500%2 == 0; long || r.IntN(2) == 0 { // long runs of one level, and short ones
			v := int32(i)
			w := int64(i % 700 / (1 + i/2000*300))
			rows[i].Maybe, rows[i].Code = &v, &w
			rows[i].Text = fmt.Sprint("text ", i)
			rows[i].In = &inner{B: fmt.Sprint(i % 9)}
			rows[i].List = make([]int32, i%4)
			rows[i].Words = []string{"a", "b", "c", fmt.Sprint(i)}[:i%5%4]
			rows[i].Holes = []*float32{nil, new(float32), new(float32), nil, nil}[i%6%3 : 3+i%3]
			rows[i].Pairs = make([]inner, i%3)
			rows[i].Map = map[string]*int64{fmt.Sprint(i): &w}
			rows[i].Deep = []struct{ X []int16 }{{[]int16{1, int16(i)}}, {}, {[]int16{3}}}[:i%4]
		}
		rows[i].Long = make([]float32, 20+i%2*r.IntN(30))
		if r.IntN(3) == 0 && rows[i].In != nil {
			v := int64(-i)
			rows[i].In.A = &v
		}
	}
	for version := 1; version <= 2; version++ {
		file := writeRows(t, [][]row{rows}, parquetgo.DataPageVersion(version), parquetgo.PageBufferSize(16<<10), parquetgo.Compression(&parquetgo.Snappy))
		m := openBytes(t, Options{}, map[string][]byte{"a.parquet": file})
		for range 300 {
			lo := r.Int64N(3000)
			u := Rows{Lo: lo, Hi: lo + 1 + r.Int64N(min(700, 3000-lo))}
			if got, want := windowRows(t, m, u, 1), windowRows(t, m, u, 0); got != want {
				t.Fatalf("version %d, rows %d to %d:\n%.3000s\nwant\n%.3000s", version, u.Lo, u.Hi, got, want)
			}
		}
	}
}

// A unit that is fetched once and decoded in steps has the rows that it has as a whole.
func TestNarrow(t *testing.T) {
	type row struct {
		ID   int64
		Text string `parquet:",dict"`
		Tags []string
	}
	rows := make([]row, 500)
	for i := range rows {
		rows[i] = row{ID: int64(i), Text: strings.Repeat("x", i%90), Tags: []string{"a", "b", "c"}[:i%4%3]}
	}
	for version := 1; version <= 2; version++ {
		file := writeRows(t, [][]row{rows}, parquetgo.DataPageVersion(version), parquetgo.PageBufferSize(300))
		m := openBytes(t, Options{}, map[string][]byte{"a.parquet": file})
		raw := fetch(t, m, Rows{Hi: 500})
		d := m.NewDecoder()
		defer d.Close()
		for _, u := range []Rows{{Hi: 7}, {Lo: 7, Hi: 200}, {Lo: 200, Hi: 201}, {Lo: 300, Hi: 500}, {Lo: 20, Hi: 90}} {
			raw.Narrow(u.Lo, u.Hi)
			b, err := d.whole(raw, Layout{})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := blockRows(b), windowRows(t, m, u, 0); got != want {
				t.Errorf("version %d, rows %d to %d:\n%.3000s\nwant\n%.3000s", version, u.Lo, u.Hi, got, want)
			}
			b.Release()
		}
		if raw.chunks[0].passed == nil || raw.chunks[0].passed.row == 0 {
			t.Error("the pages of a flat column were not passed")
		}
	}
}

// A few rows of a page of ten million items take the memory of their items, null or not, alone or
// in a struct, wherever in the page they are.
func TestFewListsOfALargePage(t *testing.T) {
	const rows, each = 100_000, 100
	one := append(repeated(1, 0), repeated(each-1, 1)...)
	starts := bytes.Repeat(one, rows)
	for name, c := range map[string]struct {
		level byte
		codes []byte
	}{"items": {3, codes8(1, repeated(rows*each, 0)...)}, "nulls": {2, nil}} {
		list := craftList(craftLeaf(format.Int32, 3, 1, i32Field))
		inStruct := &schema.Node{
			Field: &column.Field{Name: "s", Kind: column.Struct, Children: []*column.Field{list.Field}}, Children: []*schema.Node{list},
		}
		for version, page := range map[string]*craft{
			"v1": new(craft).dict(1, le32(7)).v1(rows*each, format.RLEDictionary, format.RLE, sized32(starts...), sized32(repeated(rows*each, c.level)...), c.codes),
			"v2": new(craft).dict(1, le32(7)).v2(rows*each, rows, format.RLEDictionary, starts, repeated(rows*each, c.level), c.codes),
		} {
			chunk := page.chunk(list.Children[0].Leaf, rows)
			for of, n := range map[string]*schema.Node{"list": list, "struct": inStruct} {
				for _, lo := range []int64{0, 49_990, rows - 20} {
					t.Run(fmt.Sprint(name, version, of, lo), func(t *testing.T) {
						d := newDecoder(&mem.Pool{Limit: 6 << 20}, refuseUTF8)
						defer d.Close()
						b, err := d.whole(&Raw{Rows: Rows{Lo: lo, Hi: lo + 20}, uri: "mem://crafted", columns: []*schema.Node{n}, chunks: []rawChunk{chunk}}, Layout{})
						if err != nil {
							t.Fatal(err)
						}
						defer b.Release()
						item := map[string]string{"items": "07000000", "nulls": "null"}[name]
						if got := blockRows(b); strings.Count(got, item) != 20*each || strings.Count(got, "\n") != 20 {
							t.Errorf("%.300s", got)
						}
					})
				}
			}
		}
	}
}

func windowRows(t *testing.T, m *Reader, u Rows, from int) string {
	t.Helper()
	d := m.NewDecoder()
	defer d.Close()
	d.windowFrom = from
	b, err := d.whole(fetch(t, m, u), Layout{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	return blockRows(b)
}

func blockRows(b *Block) string {
	var all strings.Builder
	for _, v := range block.Columns(b) {
		for i := range b.Rows() {
			all.WriteString(dump(v, v.Skip+i) + "\n")
		}
	}
	return all.String()
}
