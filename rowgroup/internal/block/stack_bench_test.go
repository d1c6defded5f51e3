package block

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

// BenchmarkStack makes a float32 matrix of 40 columns, and for comparison gathers the same columns
// one by one, of rows drawn at random from a shuffle buffer. Time is for a value.
func BenchmarkStack(b *testing.B) {
	const columns, blockRows, blockCount, rows = 40, 20_000, 10, 4096
	for _, from := range []castType{castTypes[13], castTypes[14], castTypes[3], castTypes[4]} {
		r := rand.New(rand.NewPCG(1, 1))
		blocks := make([]*Block, blockCount)
		for i := range blocks {
			blocks[i] = &Block{rows: blockRows}
			for range columns {
				blocks[i].cols = append(blocks[i].cols, &Vector{Field: from.field, Len: blockRows, Data: make([]byte, blockRows*from.field.Width)})
			}
		}
		item := &column.Field{Type: column.TypeFloat32, Width: 4}
		m := &Matrix{Field: &column.Field{Name: "x", Kind: column.List, ListSize: columns, Children: []*column.Field{item}}}
		for i := range columns {
			c, err := NewCaster(from.field, Cast{To: column.TypeFloat32})
			if err != nil {
				b.Fatal(err)
			}
			m.Members = append(m.Members, Member{Column: i, At: i, Caster: c})
		}
		memory := make([]byte, rows*columns*8)
		alloc := func(n int) ([]byte, error) { return memory[:n], nil }
		picks := make([][]Pick, 16)
		for i := range picks {
			picks[i] = randomPicks(r, blockCount, blockRows, rows)
		}
		b.Run(fmt.Sprintf("%v/stack", from.field), func(b *testing.B) {
			var g Gatherer
			for i := range b.N {
				if _, err := g.Stack(m, blocks, picks[i%16], alloc); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows/columns, "ns/value")
		})
		b.Run(fmt.Sprintf("%v/columns", from.field), func(b *testing.B) {
			var g Gatherer
			for i := range b.N {
				for c := range columns {
					if _, err := g.Gather(c, from.field, blocks, picks[i%16], alloc); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows/columns, "ns/value")
		})
	}
}
