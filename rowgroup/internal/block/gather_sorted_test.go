package block

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

// Sorted picks give what the picks give: of plain values and of codes of any width, with nulls, of
// columns that are moved, in batches of less and more than a tile.
func TestSortedPicks(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	var sorted, plain Gatherer
	for try := range 60 {
		width := []int{1, 2, 4, 8, 16}[try%5]
		f := &column.Field{Name: "a", Type: column.TypeInt64, Width: width, Nullable: true}
		rows, n := []int{50, 2 * sortedRows}[r.IntN(2)], []int{0, 1, 40, sortedRows, 3*sortedRows + 7}[r.IntN(5)]
		var blocks []*Block
		for range 1 + r.IntN(9) {
			blocks = append(blocks, &Block{rows: rows, cols: []*Vector{randomFixed(r, f, rows)}})
		}
		t.Run(fmt.Sprint(try, " of ", width), func(t *testing.T) {
			picks := somePicks(r, len(blocks), rows, n)
			sorted.Prepare(blocks, picks, sortedColumns)
			if want := n >= leastRun*len(blocks) && n > 0; sorted.sorted.has(picks) != want && n > 0 {
				t.Fatalf("%d picks of %d blocks are sorted: %v", n, len(blocks), !want)
			}
			for range 2 {
				got, err := sorted.Gather(0, f, blocks, picks, heap)
				if err != nil {
					t.Fatal(err)
				}
				want, err := plain.Gather(0, f, blocks, picks, heap)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got.Data, want.Data) || !bytes.Equal(got.Valid, want.Valid) || got.Nulls != want.Nulls {
					t.Fatal("the values differ")
				}
				picks = append([]Pick{}, picks...) // which were not sorted
				r.Shuffle(n, func(i, k int) { picks[i], picks[k] = picks[k], picks[i] })
			}
		})
	}
}

// Byte strings and lists are the same from sorted picks: by views, by codes, and of blocks without
// any bytes.
func TestSortedTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 6))
	var sorted, plain Gatherer
	text := &column.Field{Name: "a", Kind: column.Binary, Type: column.TypeString, Nullable: true}
	list := &column.Field{Name: "a", Kind: column.List, Nullable: true}
	list.Children = []*column.Field{{Name: "item", Type: column.TypeInt32, Width: 4}}
	ways := map[string]int{}
	for try := range 200 {
		f, rows := []*column.Field{text, list}[try%2], []int{70, 2 * sortedRows}[r.IntN(2)]
		n := []int{40, sortedRows, 2*sortedRows + 7}[r.IntN(3)]
		var blocks []*Block
		for range 1 + r.IntN(9) {
			blocks = append(blocks, &Block{rows: rows, cols: []*Vector{randomViews(r, f, rows)}})
		}
		picks := somePicks(r, len(blocks), rows, n)
		sorted.Prepare(blocks, picks, sortedColumns)
		got, err := sorted.Gather(0, f, blocks, picks, heap)
		if err != nil {
			t.Fatal(err)
		}
		want, err := plain.Gather(0, f, blocks, picks, heap)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Offsets, want.Offsets) || !bytes.Equal(got.Valid, want.Valid) || got.Nulls != want.Nulls || !bytes.Equal(got.Data, want.Data) {
			t.Fatalf("%v: the values differ", f)
		}
		if f == list && !bytes.Equal(got.Children[0].Data, want.Children[0].Data) {
			t.Fatal("the items differ")
		}
		vecs := make([]*Vector, len(blocks))
		vectorsOf(vecs, blocks, 0)
		if sorted.textSources(vecs) {
			ways[fmt.Sprint(f.Kind)]++
		}
	}
	if len(ways) != 2 || ways[fmt.Sprint(column.Binary)] < 10 {
		t.Errorf("views were found at once: %v", ways)
	}
}

// somePicks are random, or the next rows of random blocks, as those of a shuffled stream, from
// which one row in some is left out.
func somePicks(r *rand.Rand, blocks, rows, n int) []Pick {
	picks := randomPicks(r, blocks, rows, n)
	if r.IntN(3) == 0 {
		return picks
	}
	next, gaps := make([]int, blocks), r.IntN(2)*r.IntN(100)
	for i := range next {
		next[i] = r.IntN(rows)
	}
	for i, p := range picks {
		at := &next[p.Block()]
		if *at++; gaps > 0 && r.IntN(gaps+1) == 0 {
			*at++
		}
		picks[i] = MakePick(p.Block(), *at%rows)
	}
	return picks
}

// randomViews is a vector of byte strings, or of lists of 32-bit items, of a random form.
func randomViews(r *rand.Rand, f *column.Field, rows int) *Vector {
	views := func(n int) *Vector {
		v := &Vector{Field: f, Len: n, Views: make([]uint64, n), Base: [][]byte{make([]byte, 40*4*n)}}
		for i := range v.Base[0] {
			v.Base[0][i] = byte(r.Uint32())
		}
		for i := range v.Views {
			v.Views[i] = uint64(160*i)<<32 | uint64(4*r.IntN(40))
		}
		return v
	}
	v := views(rows)
	switch form := r.IntN(12); {
	case form == 0: // nulls alone
		return &Vector{Field: f, Len: rows, Nulls: rows}
	case form == 1: // behind one another in chunks
		v.ChunkShift, v.Base = 32, [][]byte{v.Base[0]}
	case form < 8 && f.Kind == column.Binary:
		dict := views(20)
		v.Views, v.Base, v.Dict, v.CodeWidth = nil, nil, dict, 1<<r.IntN(3)
		v.Codes = make([]byte, rows*v.CodeWidth)
		for i := range rows {
			v.Codes[i*v.CodeWidth] = byte(r.IntN(20))
		}
	}
	for range r.IntN(2) * r.IntN(30) {
		i := r.IntN(rows)
		if v.Nulls == 0 || !v.IsNull(i) {
			v.setNull(i)
		}
		if v.Codes != nil {
			clear(v.Codes[i*v.CodeWidth : (i+1)*v.CodeWidth])
		} else {
			v.Views[i] = 0
		}
	}
	return v
}

// randomFixed is a vector of a random form.
func randomFixed(r *rand.Rand, f *column.Field, rows int) *Vector {
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	v := &Vector{Field: f, Len: rows}
	if codes := r.IntN(4); codes == 0 {
		v.Data = random(rows * f.Width)
	} else {
		v.CodeWidth = 1 << (codes - 1)
		v.Dict = &Vector{Field: f, Len: 200, Data: random(200 * f.Width)}
		v.Codes = make([]byte, rows*v.CodeWidth)
		for i := range rows {
			v.Codes[i*v.CodeWidth] = byte(r.IntN(200))
		}
	}
	switch r.IntN(4) {
	case 0:
		for range 1 + r.IntN(rows) {
			if i := r.IntN(rows); v.Nulls == 0 || !v.IsNull(i) {
				v.setNull(i)
			}
		}
	case 1:
		v.Order = make([]uint32, rows)
		for i, k := range r.Perm(rows) {
			v.Order[i] = uint32(k)
		}
	}
	return v
}

// BenchmarkSortedPicks gathers forty columns of batches from many blocks in step.
func BenchmarkSortedPicks(b *testing.B) {
	const columns, rows, each = 40, 2500, 16
	f := &column.Field{Name: "a", Type: column.TypeInt64, Width: 8}
	for _, count := range []int{8, 64} {
		blocks := make([]*Block, count)
		for i := range blocks {
			blocks[i] = &Block{rows: rows}
			for range columns {
				blocks[i].cols = append(blocks[i].cols, &Vector{Field: f, Len: rows, Data: make([]byte, 8*rows)})
			}
		}
		memory := make([]byte, 8*each*count)
		for _, sort := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d blocks, sorted %v", count, sort), func(b *testing.B) {
				var g Gatherer
				picks := make([]Pick, each*count)
				for n := range b.N {
					for i := range picks {
						picks[i] = MakePick(i%count, (n*each+i/count)%rows)
					}
					if sort {
						g.Prepare(blocks, picks, sortedColumns)
					}
					for c := range columns {
						if _, err := g.GatherFixed(c, f, blocks, picks, memory, nil); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(picks))/columns, "ns/value")
			})
		}
	}
}
