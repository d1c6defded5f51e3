package rowgroup

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/column"
)

type tensorRow struct {
	Row    int64       `parquet:"row"`
	Wide   []float32   `parquet:"wide,list"`
	Small  []int16     `parquet:"small,list"`
	Nested [][]float64 `parquet:"nested,list"`
	Null   *int64      `parquet:"null,optional,dict"`
}

// filesOfForms are files of columns in every form that a block may have.
func filesOfForms(t *testing.T, rng *rand.Rand) map[string][]byte {
	tensors := make([]tensorRow, 150)
	for i := range tensors {
		tensors[i] = tensorRow{Row: int64(i), Wide: make([]float32, 40), Small: []int16{int16(i), int16(-i)}, Null: some(rng, int64(i%7))}
		tensors[i].Wide[i%40] = float32(i)
		tensors[i].Nested = [][]float64{{float64(i)}, {}}
	}
	return map[string][]byte{
		"every form": writeRows(t, [][]everyRow{randomRows(4, 200)}, parquet.PageBufferSize(400), parquet.Compression(&parquet.Snappy)),
		"tensors":    writeRows(t, [][]tensorRow{tensors}, parquet.PageBufferSize(3000)),
	}
}

// Blocks laid in an order hold the rows that it names of blocks in the file's order, in every form,
// for whole groups and slices, for all rows and some of them.
func TestDecodeInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for name, file := range filesOfForms(t, rng) {
		t.Run(name, func(t *testing.T) {
			m, d := openDecoder(t, file, Options{})
			n := int(m.NumRows())
			for try := range 20 {
				lo := rng.IntN(n) * (try % 2)
				u := Rows{Lo: int64(lo), Hi: int64(n)}
				l := Layout{Order: make([]uint32, n-lo)}
				for i, k := range rng.Perm(n - lo) {
					l.Order[i] = uint32(k)
				}
				if try%4 > 1 { // some rows, down to none
					l.Order = l.Order[:rng.IntN(min(n-lo, 1+n>>rng.IntN(8)))]
				}
				if try%5 == 0 {
					slices.Sort(l.Order)
				}
				raw := fetch(t, m, Rows{Hi: int64(n)}) // whole, so that rows before lo are decoded too
				raw.Rows = u
				plain, err := d.whole(raw, Layout{})
				if err != nil {
					t.Fatal(err)
				}
				laid, err := d.whole(raw, l)
				if err != nil {
					t.Fatal(err)
				}
				if laid.Rows() != len(l.Order) {
					t.Errorf("a block of %d rows, not %d", laid.Rows(), len(l.Order))
				}
				comparePicks(t, m.Schema(), laid, plain, l.Order)
				laid.Release()
				plain.Release()
			}
		})
	}
}

// comparePicks holds row i of laid against row order[i] of plain.
func comparePicks(t *testing.T, s *column.Schema, laid, plain *Block, order []uint32) {
	t.Helper()
	var g Gatherer
	a, b := make([]Pick, len(order)), make([]Pick, len(order))
	for i, r := range order {
		a[i], b[i] = MakePick(0, i), MakePick(0, int(r))
	}
	for c, f := range s.Fields {
		got, err := g.Gather(c, f, []*Block{laid}, a, heap)
		if err != nil {
			t.Fatal(err)
		}
		want, err := g.Gather(c, f, []*Block{plain}, b, heap)
		if err != nil {
			t.Fatal(err)
		}
		for i := range order {
			if a, b := shownItem(got, i), shownItem(want, i); a != b {
				t.Fatalf("column %s, row %d: got %.200s, want %.200s", f.Name, i, a, b)
			}
		}
		if got.Nulls != want.Nulls {
			t.Fatalf("column %s: %d nulls, want %d", f.Name, got.Nulls, want.Nulls)
		}
	}
}

func TestDecodeRefusesOrder(t *testing.T) {
	m, d := openDecoder(t, writeRows(t, [][]tensorRow{make([]tensorRow, 3)}), Options{})
	for want, order := range map[string][]uint32{"an order of 4 rows for a unit of 3": {0, 1, 2, 1}, "an order with row 3 for a unit of 3": {0, 1, 3}} {
		t.Run(want, func(t *testing.T) {
			raw, err := m.Fetch(context.Background(), Rows{Hi: 3})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.Decode(raw, Layout{Order: order}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
			raw.Release()
		})
	}
}

// An order that names a row twice has it twice.
func TestDecodeTheSameRowTwice(t *testing.T) {
	m, d := openDecoder(t, writeRows(t, [][]everyRow{randomRows(5, 60)}, parquet.PageBufferSize(400)), Options{})
	n := int(m.NumRows())
	raw := fetch(t, m, Rows{Hi: int64(n)})
	plain, err := d.whole(raw, Layout{})
	if err != nil {
		t.Fatal(err)
	}
	order := make([]uint32, n)
	for i := range order {
		order[i] = uint32(n - 1 - i/3)
	}
	laid, err := d.whole(raw, Layout{Order: order})
	if err != nil {
		t.Fatal(err)
	}
	comparePicks(t, m.Schema(), laid, plain, order)
	laid.Release()
	plain.Release()
}
