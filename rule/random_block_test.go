package rule

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"

	"github.com/shardfeed/shardfeed/column"
)

// A testBlock is rows of random columns, with facts about them.
type testBlock struct {
	rows    int
	schema  column.Schema
	columns []*testColumn
}

// newTestBlock makes a column of each type; some are members of the struct s, the list is at the
// end.
func newTestBlock(r *rand.Rand, rows int) *testBlock {
	b := &testBlock{rows: rows}
	within := &column.Field{Name: "s", Kind: column.Struct, Nullable: true}
	outer := bitmap(rows, func(int) bool { return r.IntN(5) > 0 })
	if r.IntN(3) == 0 {
		outer = nil
	}
	for _, t := range testTypes() {
		c := &testColumn{testType: t, path: []string{t.field.Name}}
		nested := r.IntN(4) == 0
		if nested {
			c.path = []string{"s", t.field.Name}
			within.Children = append(within.Children, &c.field)
			c.fill(r, rows, outer)
		} else {
			b.schema.Fields = append(b.schema.Fields, &c.field)
			c.fill(r, rows, nil)
		}
		c.makeStats(r)
		b.columns = append(b.columns, c)
	}
	b.columns = append(b.columns, listColumn(r, rows))
	b.schema.Fields = append(b.schema.Fields, within, &b.columns[len(b.columns)-1].field)
	return b
}

// inputs are the columns that a filter reads.
func (b *testBlock) inputs(f *Filter) (all []Column) {
	for _, in := range f.Inputs() {
		all = append(all, b.column(in.Path).column)
	}
	return all
}

func (b *testBlock) column(path []string) *testColumn {
	for _, c := range b.columns {
		if slices.Equal(c.path, path) {
			return c
		}
	}
	panic("no such column")
}

// testStats are the facts of a block, as a filter asks for them.
type testStats struct {
	b *testBlock
	f *Filter
}

func (s testStats) Column(i int) ColumnStats { return s.b.column(s.f.Inputs()[i].Path).stats }

func bitmap(n int, set func(i int) bool) []byte {
	b := make([]byte, (n+7)/8)
	for i := range n {
		if set(i) {
			b[i/8] |= 1 << (i % 8)
		}
	}
	return b
}

// fill draws values and stores them plain, coded, as a constant, or as a member of a struct of
// which some rows are null.
func (c *testColumn) fill(r *rand.Rand, rows int, outer []byte) {
	few := make([]any, r.IntN(4)+1)
	for i := range few {
		few[i] = c.value(r)
	}
	nulls := []float64{0, 0.2, 1}[r.IntN(3)]
	c.values = make([]any, rows)
	for i := range c.values {
		if r.Float64() >= nulls {
			c.values[i] = few[r.IntN(len(few))]
		}
	}
	if outer == nil && r.IntN(6) == 0 {
		c.fillConstant(rows)
		return
	}
	if r.IntN(3) == 0 {
		c.fillCoded(r, few)
	} else {
		c.column.Values = c.array(c.values)
	}
	if outer == nil {
		return
	}
	if c.column.Codes == nil && r.IntN(2) == 0 {
		top := &column.Array{
			Field: &column.Field{Name: "s", Kind: column.Struct, Children: []*column.Field{&c.field}},
			Len:   rows, Valid: outer, Children: []*column.Array{c.column.Values},
		}
		made, err := NewColumn(top, "s", c.field.Name)
		if err != nil {
			panic(err)
		}
		c.column = made
	} else {
		c.column.Present = append(c.column.Present, outer)
	}
	for i := range c.values {
		if outer[i/8]>>(i%8)&1 == 0 {
			c.values[i] = nil
		}
	}
}

func (c *testColumn) fillConstant(rows int) {
	v := []any{nil}
	if rows > 0 {
		v = c.values[:1]
	}
	for i := range c.values {
		c.values[i] = v[0]
	}
	c.column = Column{Values: c.array(v), Constant: true}
}

// fillCoded codes the values; the dictionary has an entry that no row uses.
func (c *testColumn) fillCoded(r *rand.Rand, few []any) {
	entries := append([]any{c.value(r)}, few...)
	c.column.CodeWidth = []int{1, 2, 4}[r.IntN(3)]
	c.column.Codes = []byte{}
	for _, v := range c.values {
		code := 0
		for i, e := range entries {
			if v != nil && bytes.Equal(c.put(nil, v), c.put(nil, e)) {
				code = i
			}
		}
		c.column.Codes = append(c.column.Codes, twos(big.NewInt(int64(code)), c.column.CodeWidth)...)
	}
	c.column.Values = c.array(entries)
	c.column.Present = [][]byte{bitmap(len(c.values), func(i int) bool { return c.values[i] != nil })}
}

// array stores values plain; a column of nulls sometimes has no storage.
func (c *testColumn) array(values []any) *column.Array {
	a := &column.Array{Field: &c.field, Len: len(values)}
	if c.field.Kind == column.Binary {
		a.Offsets = []int32{0}
	}
	for _, v := range values {
		switch {
		case v != nil:
			a.Data = c.put(a.Data, v)
		default:
			a.Data = append(a.Data, make([]byte, c.field.Width)...)
			a.Nulls++
		}
		if c.field.Kind == column.Binary {
			a.Offsets = append(a.Offsets, int32(len(a.Data)))
		}
	}
	if a.Nulls > 0 {
		a.Valid = bitmap(len(values), func(i int) bool { return values[i] != nil })
	}
	if a.Nulls == a.Len && a.Len%2 == 0 {
		a.Data, a.Offsets, a.Valid = nil, nil, nil
	}
	return a
}

// listColumn holds lists, whose values are their lengths.
func listColumn(r *rand.Rand, rows int) *testColumn {
	c := &testColumn{path: []string{"tokens"}, values: make([]any, rows)}
	c.field = column.Field{Name: "tokens", Kind: column.List, Children: []*column.Field{column.FieldOf[int32]("item")}}
	a := &column.Array{Field: &c.field, Len: rows, Offsets: []int32{0}}
	for i := range c.values {
		n := r.Int64N(6)
		if r.IntN(4) == 0 {
			n = 0
			a.Nulls++
		} else {
			c.values[i] = big.NewInt(n)
		}
		a.Offsets = append(a.Offsets, a.Offsets[i]+int32(n))
	}
	a.Valid = bitmap(rows, func(i int) bool { return c.values[i] != nil })
	if r.IntN(4) == 0 { // of one length
		c.field.ListSize = 3
		a.Offsets = nil
		for i, v := range c.values {
			if v != nil {
				c.values[i] = big.NewInt(3)
			}
		}
	}
	c.column = Column{Values: a}
	return c
}

// makeStats tells some facts about the column, all true, bounds sometimes wider than need be.
func (c *testColumn) makeStats(r *rand.Rand) {
	var present []any
	for _, v := range c.values {
		if v != nil {
			present = append(present, v)
		}
	}
	if r.IntN(2) == 0 {
		c.stats = ColumnStats{Rows: int64(len(c.values)), Nulls: int64(len(c.values) - len(present)), NullsKnown: true}
	}
	if r.IntN(3) > 0 {
		c.bounds(r, present)
	}
	if r.IntN(4) == 0 {
		c.stats.Distinct = c.array(append(slices.Clone(present), c.value(r)))
	}
	if r.IntN(3) == 0 {
		c.stats.MayContain = func(value []byte) bool {
			return slices.ContainsFunc(present, func(v any) bool { return bytes.Equal(c.put(nil, v), value) }) || len(value) > 0 && value[0]%8 == 0
		}
	}
}

// bounds passes over NaN, or gives it as a bound, as writers do.
func (c *testColumn) bounds(r *rand.Rand, present []any) {
	var lo, hi any
	for _, v := range present {
		if f, ok := v.(float64); ok && f != f {
			continue
		}
		if lo == nil {
			lo, hi = v, v
		}
		if order, _ := compareValues(v, lo); order < 0 {
			lo = v
		}
		if order, _ := compareValues(v, hi); order > 0 {
			hi = v
		}
	}
	if lo == nil {
		return
	}
	if _, ok := lo.(float64); ok && r.IntN(8) == 0 {
		lo = math.NaN()
	}
	if r.IntN(5) > 0 {
		c.stats.Min = c.put([]byte{}, lo)
	}
	if r.IntN(5) > 0 {
		c.stats.Max = c.put([]byte{}, hi)
	}
	if c.field.Kind == column.Binary && r.IntN(3) == 0 { // truncated
		if len(c.stats.Min) > 0 {
			c.stats.Min = c.stats.Min[:1]
		}
		if len(c.stats.Max) > 1 && c.stats.Max[0] < 255 {
			c.stats.Max = []byte{c.stats.Max[0] + 1}
		}
	}
}
