package iterable

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A ruledRow is a row of the tables that the tests of rules filter.
type ruledRow struct {
	ID     int64    `parquet:"id"`
	Label  string   `parquet:"label,dict"`
	Image  []byte   `parquet:"image,plain"`
	Score  *float64 `parquet:"score,optional"`
	Lang   *string  `parquet:"lang,optional,dict"`
	Tokens []int32  `parquet:"tokens,list"`
	Meta   struct {
		Source *string `parquet:"source,optional"`
	} `parquet:"meta"`
	User   int64   `parquet:"user,dict"`
	Weight float32 `parquet:"weight"`
}

// A ruledTable is rows in shards of a store; the partition column year is that of the shard.
type ruledTable struct {
	store  *memstore.Store
	rows   []ruledRow
	year   []int // of each row
	groups [][]int
}

func randomRow(r *rand.Rand, id int64) ruledRow {
	row := ruledRow{ID: id, Label: fmt.Sprintf("label %d", id%7), User: r.Int64N(40), Weight: float32(r.IntN(9)) / 4}
	row.Image = make([]byte, r.IntN(60))
	for i := range row.Image {
		row.Image[i] = byte(id + int64(i))
	}
	if r.IntN(5) > 0 {
		v := r.Float64()
		if r.IntN(20) == 0 {
			v = math.NaN()
		}
		row.Score = &v
	}
	if r.IntN(6) > 0 {
		v := []string{"en", "de", "fr", "日本"}[r.IntN(4)]
		row.Lang = &v
	}
	for range r.IntN(6) {
		row.Tokens = append(row.Tokens, r.Int32())
	}
	if r.IntN(3) > 0 {
		v := fmt.Sprint("site ", r.IntN(5))
		row.Meta.Source = &v
	}
	return row
}

// ruledRows writes a table with row groups of so many rows.
func ruledRows(t testing.TB, r *rand.Rand, groups [][]int) *ruledTable {
	t.Helper()
	table := &ruledTable{store: &memstore.Store{}, groups: groups}
	for s, sizes := range groups {
		var b bytes.Buffer
		w := parquet.NewGenericWriter[ruledRow](&b, parquet.PageBufferSize(512))
		for _, n := range sizes {
			for range n {
				row := randomRow(r, int64(len(table.rows)))
				if _, err := w.Write([]ruledRow{row}); err != nil {
					t.Fatal(err)
				}
				table.rows, table.year = append(table.rows, row), append(table.year, 2020+s/2)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		table.store.Put(fmt.Sprintf("data/year=%d/part-%03d.parquet", 2020+s/2, s), b.Bytes())
	}
	return table
}

// A condition is a filter, and the same in Go: 1 true, 0 false, -1 unknown.
type condition struct {
	text string
	of   func(row *ruledRow, year int) int
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func randomCondition(r *rand.Rand, depth int) condition {
	if depth > 0 && r.IntN(3) > 0 {
		a, b := randomCondition(r, depth-1), randomCondition(r, depth-1)
		switch r.IntN(3) {
		case 0:
			return condition{fmt.Sprintf("(%s and %s)", a.text, b.text), func(row *ruledRow, y int) int {
				x, z := a.of(row, y), b.of(row, y)
				if x == 0 || z == 0 {
					return 0
				}
				return min(x, z)
			}}
		case 1:
			return condition{fmt.Sprintf("(%s or %s)", a.text, b.text), func(row *ruledRow, y int) int {
				x, z := a.of(row, y), b.of(row, y)
				if x == 1 || z == 1 {
					return 1
				}
				return min(x, z)
			}}
		}
		return condition{fmt.Sprintf("not (%s)", a.text), func(row *ruledRow, y int) int {
			if x := a.of(row, y); x >= 0 {
				return 1 - x
			}
			return -1
		}}
	}
	switch r.IntN(9) {
	case 7:
		return randomSearch(r)
	case 8:
		return condition{"score is nan", func(row *ruledRow, _ int) int {
			if row.Score == nil {
				return -1
			}
			return truth(math.IsNaN(*row.Score))
		}}
	case 0:
		v := r.Float64()
		return condition{fmt.Sprintf("score >= %v", v), func(row *ruledRow, _ int) int {
			if row.Score == nil {
				return -1
			}
			return truth(*row.Score >= v)
		}}
	case 1:
		return condition{`lang in ("en", "日本")`, func(row *ruledRow, _ int) int {
			if row.Lang == nil {
				return -1
			}
			return truth(*row.Lang == "en" || *row.Lang == "日本")
		}}
	case 2:
		n := r.IntN(6)
		return condition{fmt.Sprintf("len(tokens) > %d", n), func(row *ruledRow, _ int) int { return truth(len(row.Tokens) > n) }}
	case 3:
		return condition{"meta.source is not null", func(row *ruledRow, _ int) int { return truth(row.Meta.Source != nil) }}
	case 4:
		y := 2020 + r.IntN(3)
		return condition{fmt.Sprintf("year = %d", y), func(_ *ruledRow, year int) int { return truth(year == y) }}
	case 5:
		n := r.Int64N(800)
		return condition{fmt.Sprintf("id between %d and %d", n, n+200), func(row *ruledRow, _ int) int { return truth(row.ID >= n && row.ID <= n+200) }}
	}
	u := r.Int64N(40)
	return condition{fmt.Sprintf("user < %d", u), func(row *ruledRow, _ int) int { return truth(row.User < u) }}
}

// randomSearch is a search in a string that has a dictionary, has none, or is within a struct.
func randomSearch(r *rand.Rand) condition {
	switch n := r.IntN(7); n % 3 {
	case 0:
		return condition{fmt.Sprintf("starts_with(label, 'label %d')", n), func(row *ruledRow, _ int) int {
			return truth(strings.HasPrefix(row.Label, fmt.Sprintf("label %d", n)))
		}}
	case 1:
		return condition{fmt.Sprintf("meta.source ilike '%%TE_%d'", n), func(row *ruledRow, _ int) int {
			if row.Meta.Source == nil {
				return -1
			}
			return truth(strings.HasSuffix(*row.Meta.Source, fmt.Sprintf("te %d", n)))
		}}
	}
	return condition{"contains(upper(lang), 'E')", func(row *ruledRow, _ int) int {
		if row.Lang == nil {
			return -1
		}
		return truth(strings.ContainsRune(*row.Lang, 'e'))
	}}
}

// randomRule sets options of a rule, and returns how often each row comes under it.
func (table *ruledTable) randomRule(t testing.TB, r *rand.Rand, o *Options) []int {
	t.Helper()
	times := make([]int, len(table.rows))
	for i := range times {
		times[i] = 1
	}
	drop := func(drops func(i int) bool) {
		for i := range times {
			if drops(i) {
				times[i] = 0
			}
		}
	}
	kinds := 1 + r.IntN(31)
	if kinds&1 > 0 {
		c := randomCondition(r, 2)
		o.Filters = c.text
		drop(func(i int) bool { return c.of(&table.rows[i], table.year[i]) != 1 })
	}
	if kinds&2 > 0 {
		o.Split = rule.Split{Parts: map[string]float64{"train": 3, "val": 1}, Part: []string{"train", "val"}[r.IntN(2)], Seed: r.Uint64()}
		if r.IntN(2) == 0 {
			o.Split = rule.Split{Subsample: 0.5}
		}
		kept := table.part(t, o.Split)
		drop(func(i int) bool { return !kept[i] })
	}
	if kinds&4 > 0 {
		listed := make([]bool, len(times))
		for i := range listed {
			listed[i] = r.IntN(3) > 0
		}
		o.Rows = table.list(t, listed)
		drop(func(i int) bool { return !listed[i] })
	}
	if kinds&24 == 24 {
		o.Weight = "weight"
		for i := range times {
			times[i] *= table.repeats(t, i, o.Split.Seed)
		}
	}
	return times
}

// part is the rows of a part by ratio.
func (table *ruledTable) part(t testing.TB, s rule.Split) []bool {
	t.Helper()
	p, err := rule.NewPart(s)
	if err != nil {
		t.Fatal(err)
	}
	kept := make([]bool, len(table.rows))
	m, first := p.Marker(), 0
	for _, sizes := range table.groups {
		for _, n := range sizes {
			bits := slices.Repeat([]uint64{^uint64(0)}, (n+63)/64)
			m.ByRow(rule.Slice{First: int64(first), Rows: int64(n), Hi: int64(n)}, bits)
			for i := range n {
				kept[first+i] = bits[i/64]>>(i%64)&1 == 1
			}
			first += n
		}
	}
	return kept
}

// list is a rows file of some rows of the table.
func (table *ruledTable) list(t testing.TB, listed []bool) *rule.RowList {
	t.Helper()
	d, err := Open(t.Context(), shard.Stores{"mem": table.store}, []string{"mem://data/"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var b bytes.Buffer
	first := 0
	err = rule.WriteRowList(&b, d.List(), func(g int, bits []uint64) error {
		for i := range d.List().Groups[g].Rows {
			if listed[first] {
				bits[i/64] |= 1 << (i % 64)
			}
			first++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := rule.ParseRowList(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// repeats is how often a row comes by its weight.
func (table *ruledTable) repeats(t testing.TB, row int, seed uint64) int {
	t.Helper()
	m := make([]uint8, 1)
	if err := rule.Repeats(rule.Column{Values: float32Array(table.rows[row].Weight)}, seed, int64(row), nil, m); err != nil {
		t.Fatal(err)
	}
	return int(m[0])
}

// samplesOf are the ids of each unit's samples.
func samplesOf(d *Dataset, units []shuffle.Unit, times []int) [][]int64 {
	first := make([]int64, len(d.sources[0].data.Groups)+1)
	for g := range d.sources[0].data.Groups {
		first[g+1] = first[g] + d.sources[0].data.Groups[g].Rows
	}
	out := make([][]int64, len(units))
	for i, u := range units {
		for id := first[u.Group] + u.Lo; id < first[u.Group]+u.Hi; id++ {
			for range times[id] {
				out[i] = append(out[i], id)
			}
		}
	}
	return out
}

func float32Array(v float32) *column.Array {
	return &column.Array{
		Field: &column.Field{Name: "weight", Kind: column.Fixed, Type: column.TypeFloat32, Width: 4}, Len: 1,
		Data: binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)),
	}
}
