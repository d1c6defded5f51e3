package rowgroup

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/internal/mem"
)

// fewRow has columns whose rows cannot change places, or are not moved when all stay.
type fewRow struct {
	Number int64            `parquet:"number"`
	Long   string           `parquet:"long,plain"`
	Dict   string           `parquet:"dict,dict"`
	Far    int64            `parquet:"far,dict"`
	Tokens []int32          `parquet:"tokens,list"`
	Words  []string         `parquet:"words,list"`
	Nulls  []*int64         `parquet:"nulls,list"`
	Deep   [][]int32        `parquet:"deep,list"`
	Map    map[string]int32 `parquet:"map"`
	Groups []inner          `parquet:"groups,list"`
}

func fewRows(rng *rand.Rand, n int) []fewRow {
	text := func(most int) string { return string(slices.Repeat([]byte{byte('a' + rng.IntN(26))}, rng.IntN(most))) }
	rows := make([]fewRow, n)
	for i := range rows {
		rows[i] = fewRow{
			Number: int64(i), Long: text(300), Dict: fmt.Sprint("entry ", rng.IntN(2*n)), Far: int64(rng.IntN(n / 2)),
			Tokens: manyOf(rng, 30, rng.Int32), Words: manyOf(rng, 8, func() string { return text(20) }),
			Nulls: manyOf(rng, 20, func() *int64 { return some(rng, rng.Int64()) }),
			Deep:  manyOf(rng, 4, func() []int32 { return manyOf(rng, 6, rng.Int32) }),
			Map:   map[string]int32{text(20): 1, "two": 2}, Groups: manyOf(rng, 5, func() inner { return inner{A: rng.Int32(), B: some(rng, text(9))} }),
		}
	}
	return rows
}

// Blocks of few rows hold what those rows take: of any column, in one part and in several.
func TestFewRowsTakeTheirMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const n, kept = 20000, 4000
	file := writeRows(t, [][]fewRow{fewRows(rng, n)}, parquet.PageBufferSize(64<<10))
	order := make([]uint32, kept)
	for i, r := range rng.Perm(n)[:kept] {
		order[i] = uint32(r)
	}
	var columns []string
	for _, f := range openBytes(t, Options{}, map[string][]byte{"a.parquet": file}).Schema().Fields {
		columns = append(columns, f.Name)
	}
	for _, name := range columns {
		for _, parts := range []int{1, 3} {
			t.Run(fmt.Sprint(name, " in ", parts), func(t *testing.T) {
				m, d := openDecoder(t, file, Options{Columns: []string{name}})
				raw := fetch(t, m, Rows{Hi: n})
				whole, err := d.whole(raw, Layout{})
				if err != nil {
					t.Fatal(err)
				}
				l := Layout{Order: order, Parts: parts, Part: make([]uint8, n), wide: 100}
				for i := range l.Part {
					l.Part[i] = 1
				}
				for i, r := range order {
					l.Part[r] = uint8(1 + i*parts/kept)
				}
				blocks, err := d.Decode(raw, l)
				if err != nil {
					t.Fatal(err)
				}
				held, from := int64(0), 0
				for _, b := range blocks {
					held += b.Bytes()
					comparePicks(t, m.Schema(), b, whole, order[from:from+b.Rows()])
					from += b.Rows()
				}
				least := int64(parts+1) * 2 * mem.ClassBytes(0) // buffers that are nearly empty
				if most := whole.Bytes()*kept/n*2 + least; held > most {
					t.Errorf("%d rows of %d take %d bytes of %d, want %d at most", kept, n, held, whole.Bytes(), most)
				}
				k := m.KeptBytes(0, kept)
				if most := k.Narrow + k.Wide + least; held > most || k.Most < k.Narrow+k.Wide || most > 6*held+least {
					t.Errorf("%d bytes held, foretold %+v", held, k)
				}
				for _, b := range blocks {
					b.Release()
				}
				whole.Release()
			})
		}
	}
}

// An empty order gives empty blocks.
func TestDecodeNoRows(t *testing.T) {
	m, d := openDecoder(t, writeRows(t, [][]everyRow{randomRows(6, 50)}), Options{})
	for _, parts := range []int{0, 1, 3} {
		t.Run(fmt.Sprint(parts, " parts"), func(t *testing.T) {
			blocks, err := d.Decode(fetch(t, m, Rows{Hi: 50}), Layout{Order: []uint32{}, Parts: parts, Part: slices.Repeat([]uint8{1}, 50)})
			if err != nil {
				t.Fatal(err)
			}
			if len(blocks) != max(1, parts) {
				t.Errorf("%d blocks for %d parts", len(blocks), parts)
			}
			for _, b := range blocks {
				if b.Rows() != 0 {
					t.Errorf("a block of %d rows", b.Rows())
				}
				comparePicks(t, m.Schema(), b, b, nil)
				b.Release()
			}
		})
	}
}

// Few rows of a wide column are copied page by page: the decoder never holds all of its values.
func TestFewWideRowsTakeNoScratch(t *testing.T) {
	type row struct {
		Tokens []int32 `parquet:"tokens,list"`
		Text   string  `parquet:"text,plain"`
	}
	rng := rand.New(rand.NewPCG(3, 4))
	const n, kept = 4000, 100
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{Tokens: manyOf(rng, 600, rng.Int32), Text: string(make([]byte, rng.IntN(2400)))}
	}
	file := writeRows(t, [][]row{rows}, parquet.PageBufferSize(64<<10))
	for _, name := range []string{"tokens", "text"} {
		for _, parts := range []int{1, 3} {
			t.Run(fmt.Sprint(name, " in ", parts), func(t *testing.T) {
				m, d := openDecoder(t, file, Options{Columns: []string{name}})
				raw := fetch(t, m, Rows{Hi: n})
				whole, err := d.whole(raw, Layout{})
				if err != nil {
					t.Fatal(err)
				}
				l := Layout{Parts: parts, Part: make([]uint8, n)}
				for i, r := range rng.Perm(n)[:kept] {
					l.Order = append(l.Order, uint32(r))
					l.Part[r] = uint8(1 + i*parts/kept)
				}
				if parts == 1 {
					l.Part = nil
				}
				pool := &mem.Pool{}
				few := newDecoder(pool, false)
				defer few.Close()
				blocks, err := few.Decode(raw, l)
				if err != nil {
					t.Fatal(err)
				}
				held, from := int64(0), 0
				for _, b := range blocks {
					held += b.Bytes()
					comparePicks(t, m.Schema(), b, whole, l.Order[from:from+b.Rows()])
					from += b.Rows()
					defer b.Release()
				}
				s := m.Scratch(0)
				least := 12 * mem.ClassBytes(0) // scratch that is nearly empty
				if took, most := pool.Stats().Peak-held, s.Pages+s.Few+least; took > most || most > whole.Bytes()/4 {
					t.Errorf("%d bytes of scratch, foretold %+v; the column has %d", took, s, whole.Bytes())
				}
				whole.Release()
			})
		}
	}
}
