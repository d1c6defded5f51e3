package rowgroup

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rule"
)

// A document has lists of one length in every encoding.
type document struct {
	ID    int64     `parquet:"id"`
	Plain []int32   `parquet:"plain,list"`
	Codes []int32   `parquet:"codes,dict"`
	Few   []int64   `parquet:"few,dict"`
	Many  []int32   `parquet:"many,dict"`
	Delta []int32   `parquet:"delta,list" parquet-element:",delta"`
	Split []float32 `parquet:"split,list" parquet-element:",split"`
	Bytes []int8    `parquet:"bytes,dict"`
	Maybe []int16   `parquet:"maybe,optional,list"`
	Text  string    `parquet:"text"`
}

// randomDocumentRows makes rows whose lists have so many items at most; many of them have none.
func randomDocumentRows(r *rand.Rand, rows, most int) (all []document) {
	at := int32(0)
	for i := range rows {
		d := document{ID: int64(i), Text: randomText(r)}
		n := max(0, r.IntN(most+most/4+1)-most/4)
		for range n {
			at++
			d.Plain, d.Codes, d.Few = append(d.Plain, r.Int32()), append(d.Codes, r.Int32N(300)), append(d.Few, int64(r.IntN(2)))
			d.Many, d.Delta = append(d.Many, at%40_000), append(d.Delta, r.Int32N(1000))
			d.Split, d.Bytes, d.Maybe = append(d.Split, r.Float32()), append(d.Bytes, int8(r.IntN(100))), append(d.Maybe, int16(r.IntN(1000)))
		}
		all = append(all, d)
	}
	return all
}

// documentPacking packs all lists of a document.
func documentPacking(m *Reader, size int, around bool) *Packing {
	columns := make([]PackedColumn, len(m.Schema().Fields))
	for i, f := range m.Schema().Fields {
		if f.Name == "id" || f.Name == "text" {
			continue
		}
		columns[i].Tokens = true
		w := f.Children[0].Width
		if columns[i].Fill = []byte{7, 7, 7, 7, 7, 7, 7, 7}[:w]; around {
			columns[i].Before, columns[i].After = []byte{1, 1, 1, 1, 1, 1, 1, 1}[:w], []byte{2, 2, 2, 2, 2, 2, 2, 2}[:w]
		}
	}
	return NewPacking(m.Schema(), size, columns)
}

// packedBoth packs a unit in both ways: in two steps, and straight.
func packedBoth(t *testing.T, m *Reader, d *Decoder, p *Packing, u Rows, strategy rule.PackStrategy, r *rand.Rand) (want, got []*Block) {
	t.Helper()
	raw := fetch(t, m, u)
	unit, err := d.whole(raw, Layout{})
	if err != nil {
		t.Fatal(err)
	}
	defer unit.Release()
	tokens, err := p.Lengths(unit, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if levels, err := d.Lengths(fetch(t, m, u), p, nil); err != nil || !slices.Equal(levels, tokens) {
		t.Fatalf("levels tell %d, error %v; want %d", levels, err, tokens)
	}
	var rows PackedRows
	var lengths []uint32
	for row, n := range tokens {
		if r.IntN(5) > 0 {
			rows.Rows, lengths = append(rows.Rows, uint32(row)), append(lengths, n)
		}
	}
	fit := (&rule.Pack{Columns: map[string]int{"plain": p.Size}, Strategy: strategy}).NewPacker()
	order := make([]uint32, len(lengths))
	for i, k := range r.Perm(len(lengths)) {
		order[i] = uint32(k)
	}
	rows.Pieces, rows.Ends = fit.Layout(lengths, order)
	orders := [][]uint32{nil, nil, nil}
	for i, k := range r.Perm(len(rows.Ends)) {
		if i%4 < 3 { // a span need not have all blocks
			orders[i%4] = append(orders[i%4], uint32(k))
		}
	}
	packer := NewPacker(p)
	for _, rows.Order = range orders {
		b, err := d.Pack(packer, unit, rows)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, b)
	}
	if got, err = d.DecodePacked(fetch(t, m, u), packer, tokens, rows, orders); err != nil {
		t.Fatal(err)
	}
	return want, got
}

func checkSameBlocks(t *testing.T, want, got []*Block) {
	t.Helper()
	for k, b := range want {
		for c, v := range block.Columns(b) {
			if got[k].Rows() != b.Rows() || block.Columns(got[k])[c].Len != v.Len {
				t.Fatalf("block %d has %d rows, want %d", k, block.Columns(got[k])[c].Len, v.Len)
			}
			for row := range v.Len {
				if a, b := dump(block.Columns(got[k])[c], row), dump(v, row); a != b {
					t.Fatalf("block %d, row %d of column %s is\n%s, want\n%s", k, row, v.Field.Name, a, b)
				}
			}
		}
		b.Release()
		got[k].Release()
	}
}

func TestDecodePacked(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	strategies := []rule.PackStrategy{rule.Wrapped, rule.BestFit, rule.BestFitSplit}
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Zstd} {
		for version := 1; version <= 2; version++ {
			for _, most := range []int{3, 900} { // items; the latter make dictionaries with codes of 16 bits
				t.Run(fmt.Sprint(codec, " v", version, " lists of ", most), func(t *testing.T) {
					documents := randomDocumentRows(r, 120, most)
					file := writeRows(t, [][]document{documents}, parquet.Compression(codec), parquet.DataPageVersion(version), parquet.PageBufferSize(most*30))
					for i, strategy := range strategies {
						m, d := openDecoder(t, file, Options{})
						d.stepsFrom = 1 + most*10*i
						size := max(5, most/2)
						want, got := packedBoth(t, m, d, documentPacking(m, size, i%2 == 0 && strategy != rule.BestFit), Rows{Hi: 120}, strategy, r)
						checkSameBlocks(t, want, got)
					}
				})
			}
		}
	}
}

// What cannot be decoded straight says so, and leaves the unit to the two steps.
func TestDecodePackedNotDirect(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	documents := randomDocumentRows(r, 60, 9)
	m, d := openDecoder(t, writeRows(t, [][]document{documents}), Options{})
	p := documentPacking(m, 16, false)
	u := Rows{Hi: 60}
	tokens, err := d.Lengths(fetch(t, m, u), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := PackedRows{Rows: []uint32{0}, Pieces: []rule.Piece{{Tokens: tokens[0]}}, Ends: []uint32{1}}
	for _, c := range []struct {
		name   string
		unit   Rows
		change func(tokens []uint32, rows *PackedRows)
	}{
		{"a row that is longer than it was", u, func(tokens []uint32, _ *PackedRows) { tokens[40]++ }},
		{"a row that is shorter", u, func(tokens []uint32, _ *PackedRows) {
			tokens[slices.IndexFunc(tokens, func(n uint32) bool { return n > 0 })]--
		}},
		{"lengths of fewer rows", Rows{Hi: 59}, func([]uint32, *PackedRows) {}},
		{"a row that comes twice", u, func(_ []uint32, rows *PackedRows) { rows.Rows = []uint32{0, 0} }},
		{"rows of other units in the pages", Rows{Lo: 1, Hi: 60}, func([]uint32, *PackedRows) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			lengths, one := slices.Clone(tokens), rows
			c.change(lengths, &one)
			_, err := d.DecodePacked(fetch(t, m, c.unit), NewPacker(p), lengths, one, [][]uint32{{0}})
			if !errors.Is(err, ErrNotDirect) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A unit and the blocks that are packed of it share one allowance.
func TestPackWithinAllowance(t *testing.T) {
	documents := randomDocumentRows(rand.New(rand.NewPCG(15, 16)), 500, 900)
	m, d := openDecoder(t, writeRows(t, [][]document{documents}), Options{Columns: []string{"plain"}})
	p, u := documentPacking(m, 64, false), Rows{Hi: 500}
	tokens, err := d.Lengths(fetch(t, m, u), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	var rows PackedRows
	for row := range tokens {
		rows.Rows = append(rows.Rows, uint32(row))
	}
	rows.Pieces, rows.Ends = (&rule.Pack{Columns: map[string]int{"plain": p.Size}}).NewPacker().Layout(tokens, rows.Rows)
	for block := range rows.Ends {
		rows.Order = append(rows.Order, uint32(block))
	}
	pack := func(allowed int64) (taken int64, err error) {
		d.Allow(allowed, func(int64) error { return errors.New("no room") })
		unit, err := d.whole(fetch(t, m, u), Layout{})
		if err != nil {
			return 0, err
		}
		defer unit.Release()
		b, err := d.Pack(NewPacker(p), unit, rows)
		if err != nil {
			return 0, err
		}
		defer b.Release()
		return unit.Bytes() + b.Bytes(), nil
	}
	taken, err := pack(1 << 30)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pack(taken + 1<<20); err != nil {
		t.Errorf("within the allowance: %v", err)
	}
	if _, err := pack(taken - 512<<10); !errors.Is(err, ErrTooLarge) {
		t.Errorf("beyond the allowance: %v", err)
	}
}
