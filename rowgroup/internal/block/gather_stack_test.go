package block

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rule"
)

// A stackCase is a random matrix over random blocks, and what each place of it must hold.
type stackCase struct {
	matrix *Matrix
	blocks []*Block
	want   func(p Pick, feature int) (value []byte, null bool)
}

func randomStack(r *rand.Rand, to column.Type, members, blocks, rows int) stackCase {
	w := castWidths[to]
	item := &column.Field{Name: "item", Type: to, Width: w}
	c := stackCase{matrix: &Matrix{Field: &column.Field{Name: "x", Kind: column.List, Children: []*column.Field{item}}}}
	for range blocks {
		c.blocks = append(c.blocks, &Block{rows: rows})
	}
	var features []func(Pick) ([]byte, bool)
	for i := range members {
		null := make([]byte, w)
		for k := range null {
			null[k] = byte(r.Uint32())
		}
		m := Member{Column: i, Name: fmt.Sprint("c", i), At: len(features), Null: null}
		of := func(value []byte, isNull bool) ([]byte, bool) {
			if isNull {
				return null, true
			}
			return value, false
		}
		switch kind := r.IntN(6); {
		case kind == 0 && !IsFloatType(to) && w > 1:
			m.Caster, _ = NewCaster(&column.Field{Kind: column.Binary, Type: column.TypeString}, Cast{To: to, Buckets: 99})
			texts := randomTexts(r, c.blocks, rows)
			features = append(features, func(p Pick) ([]byte, bool) {
				s := texts[p.Block()][p.Row()]
				return of(binary.LittleEndian.AppendUint64(nil, rule.Hash(0, []byte(s))%99)[:w], s == "-")
			})
		case kind == 1:
			m.Items = 1 + r.IntN(3)
			m.Caster, _ = NewCaster(&column.Field{Type: column.TypeUint8, Width: 1}, Cast{To: to})
			lists := randomLists(r, c.blocks, rows, m.Items)
			for k := range m.Items {
				features = append(features, func(p Pick) ([]byte, bool) {
					v := lists[p.Block()][p.Row()][k]
					if v < 0 {
						return null, true
					}
					b, _ := casted(uint64(v), Cast{To: to})
					return b, false
				})
			}
		default:
			from := castTypes[r.IntN(len(castTypes))]
			cast := Cast{To: to}
			if IsFloatType(to) && r.IntN(3) == 0 {
				cast.Scaled, cast.Mean, cast.Deviation = true, 7, 100
			}
			if from.field.Type == column.TypeDecimal && !IsFloatType(to) || to == column.TypeBool {
				from = castTypes[0]
			}
			var err error
			if m.Caster, err = NewCaster(from.field, cast); err != nil {
				panic(err)
			}
			all := randomColumn(r, from, blocks, rows, r.IntN(2) == 0, func(v any) bool { _, ok := casted(v, cast); return ok })
			for b, v := range all.vecs {
				c.blocks[b].cols = append(c.blocks[b].cols, v)
			}
			features = append(features, func(p Pick) ([]byte, bool) {
				v := all.values[p.Block()][p.Row()]
				if v == nil {
					return null, true
				}
				b, _ := casted(v, cast)
				return b, false
			})
		}
		c.matrix.Members = append(c.matrix.Members, m)
	}
	c.matrix.Field.ListSize = len(features)
	c.want = func(p Pick, feature int) ([]byte, bool) { return features[feature](p) }
	return c
}

// randomTexts adds a column of texts; "-" is a null.
func randomTexts(r *rand.Rand, blocks []*Block, rows int) (all [][]string) {
	for _, b := range blocks {
		var texts []string
		for range rows {
			texts = append(texts, []string{"-", "", "a", "bcd", strings.Repeat("long", 20)}[r.IntN(5)])
		}
		b.cols = append(b.cols, text(texts...))
		all = append(all, texts)
	}
	return all
}

// randomLists adds a column of lists of one size of bytes; -1 is a null.
func randomLists(r *rand.Rand, blocks []*Block, rows, size int) (all [][][]int) {
	for _, b := range blocks {
		var lists [][]int
		v := &Vector{Len: rows, Stride: size}
		items := &Vector{Len: rows * size, Data: make([]byte, rows*size)}
		mode := r.IntN(3)
		for row := range rows {
			list := make([]int, size)
			if mode == 1 && r.IntN(3) == 0 {
				v.setNull(row)
				for k := range list {
					list[k] = -1
				}
			} else {
				for k := range list {
					if list[k] = r.IntN(2); mode == 2 && r.IntN(3) == 0 {
						list[k] = -1
						items.setNull(row*size + k)
						continue
					}
					items.Data[row*size+k] = byte(list[k])
				}
			}
			lists = append(lists, list)
		}
		if mode == 2 { // as a list of items that may be null lies
			v.Stride = 0
			for row := range rows + 1 {
				v.Offsets = append(v.Offsets, uint32(row*size))
			}
			v.Children = []*Vector{items}
		} else {
			v.Data, v.Children = items.Data, []*Vector{{}}
		}
		b.cols, all = append(b.cols, v), append(all, lists)
	}
	return all
}

// TestStack holds random matrices of all types against plain code.
func TestStack(t *testing.T) {
	var g Gatherer
	for _, to := range castTargets {
		t.Run(to.String(), func(t *testing.T) {
			for seed := range uint64(40) {
				r := rand.New(rand.NewPCG(seed, 7))
				c := randomStack(r, to, 1+r.IntN(9), 1+r.IntN(4), 30)
				n := []int{0, 1, 8, 333, 3 * tileRows}[r.IntN(5)]
				picks := randomPicks(r, len(c.blocks), 30, n)
				a, err := g.Stack(c.matrix, c.blocks, picks, heap)
				if err != nil {
					t.Fatal(err)
				}
				checkStack(t, c, picks, a)
			}
		})
	}
}

func checkStack(t *testing.T, c stackCase, picks []Pick, a *column.Array) {
	t.Helper()
	n, items := c.matrix.Field.ListSize, a.Children[0]
	w, nulls := items.Field.Width, 0
	if a.Len != len(picks) || items.Len != len(picks)*n || a.Nulls != 0 {
		t.Fatalf("%d rows of %d features gave %d and %d", len(picks), n, a.Len, items.Len)
	}
	for i, p := range picks {
		for k := range n {
			at := i*n + k
			want, null := c.want(p, k)
			got := items.Data[at*w : (at+1)*w]
			if !sameValue(got, want, items.Field.Type) && (!null || !bytes.Equal(got, want)) || items.IsNull(at) != null {
				t.Fatalf("row %d, feature %d: %x (null %v), want %x (null %v)", i, k, got, items.IsNull(at), want, null)
			}
			if null {
				nulls++
			}
		}
	}
	if items.Nulls != nulls || (nulls == 0) != (items.Valid == nil) {
		t.Fatalf("%d nulls with validity %v, want %d", items.Nulls, items.Valid != nil, nulls)
	}
}

// TestStackMoved stacks columns whose rows lie elsewhere than the block's.
func TestStackMoved(t *testing.T) {
	i32 := &column.Field{Name: "a", Type: column.TypeInt32, Width: 4}
	m, err := NewCaster(i32, Cast{To: column.TypeInt64})
	if err != nil {
		t.Fatal(err)
	}
	skipped := &Vector{Len: 4, Data: words(9, 1, 2, 3).Data, Skip: 1}
	ordered := &Vector{Len: 3, Data: words(10, 20, 30).Data, Order: []uint32{2, 0, 1}}
	item := &column.Field{Type: column.TypeInt64, Width: 8}
	matrix := &Matrix{
		Field:   &column.Field{Name: "x", Kind: column.List, ListSize: 2, Children: []*column.Field{item}},
		Members: []Member{{Column: 0, Name: "a", Caster: m}, {Column: 1, Name: "b", At: 1, Caster: m}},
	}
	var g Gatherer
	a, err := g.Stack(matrix, []*Block{{rows: 3, cols: []*Vector{skipped, ordered}}}, []Pick{2, 0, 1}, heap)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := showInts(a), "[3 20] [1 30] [2 10]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestStackRefuses(t *testing.T) {
	f := &column.Field{Name: "b", Type: column.TypeFloat64, Width: 8}
	m, err := NewCaster(f, Cast{To: column.TypeFloat32})
	if err != nil {
		t.Fatal(err)
	}
	item := &column.Field{Type: column.TypeFloat32, Width: 4}
	matrix := &Matrix{
		Field:   &column.Field{Name: "x", Kind: column.List, ListSize: 1, Children: []*column.Field{item}},
		Members: []Member{{Name: "b", Caster: m}},
	}
	v := &Vector{Len: 1, Data: binary.LittleEndian.AppendUint64(nil, math.Float64bits(-1e39))}
	var g Gatherer
	_, err = g.Stack(matrix, []*Block{{rows: 1, cols: []*Vector{v}, from: Origin{URI: "x", RowGroup: 2}}}, []Pick{0}, heap)
	if want := `x: row group 2, column "b": -1e+39 does not fit float (take a type that holds it)`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestStackAllocates sees that nothing is allocated for a row, a tile or a column.
func TestStackAllocates(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	c := randomStack(r, column.TypeFloat32, 30, 4, 30)
	var g Gatherer
	memory := make([]byte, 0, 1<<20)
	allocs := func(rows int) float64 {
		picks := randomPicks(r, 4, 30, rows)
		return testing.AllocsPerRun(5, func() {
			if _, err := g.Stack(c.matrix, c.blocks, picks, func(n int) ([]byte, error) { return memory[:n], nil }); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := allocs(4), allocs(2000); few > 8 || many > 8 {
		t.Errorf("%v allocations for 4 rows, %v for 2,000; want 8 at most", few, many)
	}
}

// TestDecimalFloat holds wide decimals against big numbers.
func TestDecimalFloat(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for range 2000 {
		b := make([]byte, []int{8, 16, 32}[r.IntN(3)])
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		keep := r.IntN(len(b) + 1)
		for i := keep; i < len(b); i++ { // a small number of either sign
			b[i] = 0
			if keep > 0 && b[keep-1]&0x80 != 0 {
				b[i] = 0xff
			}
		}
		n, bigEndian := new(big.Int), append([]byte{}, b...)
		for i, k := 0, len(bigEndian)-1; i < k; i, k = i+1, k-1 {
			bigEndian[i], bigEndian[k] = bigEndian[k], bigEndian[i]
		}
		n.SetBytes(bigEndian)
		if b[len(b)-1]&0x80 != 0 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
		want, _ := new(big.Float).SetInt(n).Float64()
		if got := decimalFloat(b); math.Abs(got-want) > math.Abs(want)*0x1p-51 {
			t.Fatalf("%x is %v, want %v", b, got, want)
		}
	}
}
