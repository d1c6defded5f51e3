package rowgroup

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	parquetgo "github.com/parquet-go/parquet-go"
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
		}
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

func windowRows(t *testing.T, m *Manifest, u Rows, from int) string {
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
	for _, v := range b.cols {
		for i := range b.Rows() {
			all.WriteString(dump(v, v.skip+i) + "\n")
		}
	}
	return all.String()
}
