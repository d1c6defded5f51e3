package rowgroup

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
)

// numberRow has fixed values of most widths and forms, and columns that matrices cannot have.
type numberRow struct {
	Long   int64    `parquet:"long"`
	Codes  int64    `parquet:"codes,dict"`
	Some   *int32   `parquet:"some"`
	Half   *float64 `parquet:"half,dict"`
	Double float64  `parquet:"double,split"`
	Flag   bool     `parquet:"flag"`
	Float  *float32 `parquet:"float"`
	None   *int64   `parquet:"none"`
	Text   string   `parquet:"text"`
}

func numberRows(r *rand.Rand, n int) []numberRow {
	rows := make([]numberRow, n)
	for i := range rows {
		rows[i] = numberRow{
			Long: r.Int64N(200) - 100, Codes: r.Int64N(40), Some: some(r, r.Int32N(99)), Half: some(r, r.Float64()), Double: float64(r.IntN(90)),
			Flag: r.IntN(2) == 0, Float: some(r, r.Float32()), Text: fmt.Sprint(r.IntN(50)),
		}
	}
	return rows
}

// randomMatrix is a matrix of some of the columns, with anything in place of nulls.
func randomMatrix(t *testing.T, r *rand.Rand, s *column.Schema, to column.Type) *Matrix {
	t.Helper()
	w := CastWidth(to)
	item := &column.Field{Name: "item", Type: to, Width: w, Nullable: true}
	m := &Matrix{Field: &column.Field{Name: "x", Kind: column.List, Children: []*column.Field{item}}}
	for i, f := range s.Fields {
		if f.Kind != column.Fixed || r.IntN(4) == 0 {
			continue
		}
		c, err := NewCaster(f, Cast{To: to})
		if err != nil {
			t.Fatal(err)
		}
		x := Member{Column: i, Name: f.Name, At: m.Field.ListSize, Caster: c}
		for range w {
			x.Null = append(x.Null, byte(r.Uint32()))
		}
		m.Members = append(m.Members, x)
		m.Field.ListSize++
	}
	return m
}

// Matrices made while a unit is decoded equal the matrices made of its columns: of whole
// groups and slices, in any order and number of parts, of all rows and of few, of every type, also
// where only some blocks have them.
func TestStacksAreTheColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 2))
	pool := &mem.Pool{}
	const n = 1500
	m := openBytes(t, Options{}, map[string][]byte{"a.parquet": writeRows(t, [][]numberRow{numberRows(r, n)}, parquet.PageBufferSize(2000))})
	d := newDecoder(pool, false)
	text := len(m.Schema().Fields) - 1
	for try := range 120 {
		to := []column.Type{column.TypeFloat32, column.TypeFloat64, column.TypeFloat16, column.TypeInt8, column.TypeInt64}[try%5]
		matrices := []*Matrix{randomMatrix(t, r, m.Schema(), to)}
		if try%3 == 0 {
			matrices = append(matrices, randomMatrix(t, r, m.Schema(), column.TypeInt16))
		}
		used := make([]bool, text+1)
		used[text], used[r.IntN(text)] = true, true
		stacks := NewStacks(m.Schema(), matrices, used)
		if stacks == nil {
			continue
		}
		t.Run(fmt.Sprint(try, " to ", to), func(t *testing.T) {
			lo := r.IntN(n/2) * (try % 2)
			l := Layout{}
			kept := n - lo
			if try%7 > 0 {
				if try%7 > 4 {
					kept = r.IntN(kept)
				}
				l, _ = inParts(r, n-lo, kept, 1+r.IntN(4))
			}
			compareStacks(t, r, m, d, l, lo, matrices, stacks, used)
		})
	}
	d.Close()
	if s := pool.Stats(); s.InUse != 0 {
		t.Errorf("%d bytes are not given back", s.InUse)
	}
}

// compareStacks decodes rows from lo on with matrices and without, and compares random picks.
func compareStacks(t *testing.T, r *rand.Rand, m *Reader, d *Decoder, l Layout, lo int, matrices []*Matrix, stacks *Stacks, used []bool) {
	t.Helper()
	raw := fetch(t, m, Rows{Hi: m.NumRows()})
	raw.Rows = Rows{Lo: int64(lo), Hi: m.NumRows()}
	plain, err := d.Decode(raw, l)
	if err != nil {
		t.Fatal(err)
	}
	l.Stacks = stacks
	made, err := d.Decode(raw, l)
	if err != nil {
		t.Fatal(err)
	}
	var picks []Pick
	for b := range plain {
		for row := range plain[b].Rows() {
			picks = append(picks, MakePick(b, row))
		}
	}
	r.Shuffle(len(picks), func(i, k int) { picks[i], picks[k] = picks[k], picks[i] })
	mixed := slices.Clone(made)
	mixed[r.IntN(len(mixed))] = plain[0]
	if i := slices.Index(mixed, plain[0]); i > 0 {
		mixed[i] = plain[i]
	}
	var g Gatherer
	for _, x := range matrices {
		want, err := g.Stack(x, plain, picks, heap)
		if err != nil {
			t.Fatal(err)
		}
		for name, blocks := range map[string][]*Block{"all": made, "some": mixed} {
			got, err := g.Stack(x, blocks, picks, heap)
			if err != nil {
				t.Fatal(err)
			}
			a, b := got.Children[0], want.Children[0]
			if got.Len != want.Len || a.Nulls != b.Nulls || !bytes.Equal(a.Data, b.Data) || !bytes.Equal(a.Valid, b.Valid) {
				t.Errorf("%s blocks: %d rows and %d nulls, want %d and %d", name, got.Len, a.Nulls, want.Len, b.Nulls)
			}
		}
	}
	for i, f := range m.Schema().Fields {
		if stacks.Drops(i) != (block.Columns(made[0])[i] == nil) || used[i] && stacks.Drops(i) {
			t.Errorf("column %q: dropped %v, used %v", f.Name, stacks.Drops(i), used[i])
		}
		if !stacks.Drops(i) {
			comparePicksOf(t, &g, i, f, made, plain, picks)
		}
	}
	for _, b := range slices.Concat(made, plain) {
		b.Release()
	}
}

// comparePicksOf compares a column that stays beside matrices.
func comparePicksOf(t *testing.T, g *Gatherer, col int, f *column.Field, got, want []*Block, picks []Pick) {
	t.Helper()
	a, err := g.Gather(col, f, got, picks, heap)
	if err != nil {
		t.Fatal(err)
	}
	b, err := g.Gather(col, f, want, picks, heap)
	if err != nil {
		t.Fatal(err)
	}
	if a.Nulls != b.Nulls || !bytes.Equal(a.Data, b.Data) || !bytes.Equal(a.Valid, b.Valid) || !slices.Equal(a.Offsets, b.Offsets) {
		t.Errorf("column %q differs", f.Name)
	}
}

// A value that cannot be cast fails the Decode, and one without matrices gives it to Stack. A null
// always fits.
func TestStacksMisfit(t *testing.T) {
	type row struct {
		Wide *float64 `parquet:"wide"`
	}
	value := func(x float64) *float64 { return &x }
	file := writeRows(t, [][]row{{{value(1)}, {nil}, {value(-1e39)}}, {{value(2)}, {nil}}})
	m, d := openDecoder(t, file, Options{})
	c, err := NewCaster(m.Schema().Fields[0], Cast{To: column.TypeFloat32})
	if err != nil {
		t.Fatal(err)
	}
	item := &column.Field{Name: "item", Type: column.TypeFloat32, Width: 4}
	x := &Matrix{
		Field:   &column.Field{Name: "x", Kind: column.List, ListSize: 1, Children: []*column.Field{item}},
		Members: []Member{{Name: "wide", Caster: c, Null: make([]byte, 4)}},
	}
	l := Layout{Order: []uint32{2, 1, 0}, Stacks: NewStacks(m.Schema(), []*Matrix{x}, []bool{false})}
	raw := fetch(t, m, Rows{Hi: 3})
	if _, err := d.Decode(raw, l); !errors.Is(err, ErrMisfit) {
		t.Fatalf("got %v, want %v", err, ErrMisfit)
	}
	l.Stacks = nil
	b, err := d.whole(raw, l)
	if err != nil {
		t.Fatal(err)
	}
	var g Gatherer
	if _, err := g.Stack(x, []*Block{b}, []Pick{1, 2}, heap); err != nil {
		t.Error(err)
	}
	want := `row group 0, column "wide": -1e+39 does not fit float (take a type that holds it)`
	if _, err := g.Stack(x, []*Block{b}, []Pick{1, 0}, heap); err == nil || !bytes.HasSuffix([]byte(err.Error()), []byte(want)) {
		t.Errorf("got %v, want %s", err, want)
	}
	b.Release()
	raw = fetch(t, m, Rows{RowGroup: 1, Hi: 2})
	l.Order, l.Stacks = []uint32{1, 0}, NewStacks(m.Schema(), []*Matrix{x}, []bool{false})
	if b, err = d.whole(raw, l); err != nil {
		t.Fatal(err)
	}
	b.Release()
}

// Matrices are made where their blocks take no more than the columns are foretold to, and then they
// take no more.
func TestStacksFit(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	type row struct {
		A, B, C, D int64
		E          int64 `parquet:"e,dict"` // codes of a byte
	}
	const n = 60_000
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{r.Int64(), r.Int64(), r.Int64(), r.Int64(), r.Int64N(9)}
	}
	m, d := openDecoder(t, writeRows(t, [][]row{rows}), Options{})
	for _, c := range []struct {
		name string
		to   column.Type
		from int // first column
		kept int64
		fits bool
	}{
		{"narrower", column.TypeFloat32, 0, n, true},
		{"few rows", column.TypeFloat32, 0, n / 10, true},
		{"codes are narrower", column.TypeFloat32, 4, n, false},
		{"as wide, with codes", column.TypeFloat64, 0, n, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			item := &column.Field{Name: "item", Type: c.to, Width: CastWidth(c.to)}
			x := &Matrix{Field: &column.Field{Name: "x", Kind: column.List, Children: []*column.Field{item}}}
			for i, f := range m.Schema().Fields[c.from:] {
				caster, err := NewCaster(f, Cast{To: c.to})
				if err != nil {
					t.Fatal(err)
				}
				x.Members = append(x.Members, Member{Column: c.from + i, At: i, Caster: caster})
				x.Field.ListSize++
			}
			s := NewStacks(m.Schema(), []*Matrix{x}, nil)
			if got := m.StacksFit(s, 0, n, c.kept, 4); got != c.fits {
				t.Fatalf("fits: %v", got)
			}
			if !c.fits {
				return
			}
			l, _ := inParts(r, n, int(c.kept), 4)
			l.Stacks = s
			blocks, err := d.Decode(fetch(t, m, Rows{Hi: n}), l)
			if err != nil {
				t.Fatal(err)
			}
			held := int64(0)
			for _, b := range blocks {
				held += b.Bytes()
				b.Release()
			}
			if k := m.KeptBytes(0, c.kept); held > k.Narrow+k.Wide+4*mem.ClassBytes(0) {
				t.Errorf("%d bytes, foretold are %d", held, k.Narrow+k.Wide)
			}
		})
	}
}
