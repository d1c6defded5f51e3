package rowgroup

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// inParts is a random layout of so many rows of a unit, whose order goes through its parts one
// after the other, and where each part ends in it.
func inParts(rng *rand.Rand, rows, kept, parts int) (l Layout, ends []int) {
	l = Layout{Order: make([]uint32, 0, kept), Part: make([]uint8, rows), Parts: parts, wide: 1 + rng.IntN(300)}
	for i := range l.Part {
		l.Part[i] = uint8(1 + rng.IntN(parts)) // also of rows that are not kept
	}
	for _, r := range rng.Perm(rows)[:kept] {
		l.Order = append(l.Order, uint32(r))
	}
	for range parts {
		ends = append(ends, rng.IntN(kept+1))
	}
	ends[parts-1] = kept
	for p := parts - 2; p >= 0; p-- {
		ends[p] = min(ends[p], ends[p+1])
	}
	from := 0
	for p, to := range ends {
		for _, r := range l.Order[from:to] {
			l.Part[r] = uint8(p + 1)
		}
		from = to
	}
	return l, ends
}

// The blocks of parts hold, one after the other, the rows that the order names of a block in the
// file's order, in every form, for whole groups and slices, for all rows and some of them. Each
// holds them however many of the others were released.
func TestDecodeParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	for name, file := range filesOfForms(t, rng) {
		t.Run(name, func(t *testing.T) {
			pool := &mem.Pool{}
			m := openBytes(t, Options{}, map[string][]byte{"a.parquet": file})
			d := newDecoder(pool, false)
			n := int(m.NumRows())
			for try := range 20 {
				lo := rng.IntN(n/2) * (try % 2)
				rows := n - lo
				kept := rows
				if try%4 > 1 {
					kept = rng.IntN(rows + 1)
				}
				l, ends := inParts(rng, rows, kept, 2+rng.IntN(5))
				raw := fetch(t, m, Rows{Hi: int64(n)}) // whole, so that rows before lo are decoded too
				raw.Rows = Rows{Lo: int64(lo), Hi: int64(n)}
				plain, err := d.whole(raw, Layout{})
				if err != nil {
					t.Fatal(err)
				}
				blocks, err := d.Decode(raw, l)
				if err != nil {
					t.Fatal(err)
				}
				compareParts(t, rng, m.Schema(), blocks, plain, l.Order, ends)
				plain.Release()
			}
			d.Close()
			if s := pool.Stats(); s.InUse != 0 {
				t.Errorf("%d bytes are not given back", s.InUse)
			}
		})
	}
}

// compareParts holds the blocks against the rows of plain, and releases them in any order.
func compareParts(t *testing.T, rng *rand.Rand, s *column.Schema, blocks []*Block, plain *Block, order []uint32, ends []int) {
	t.Helper()
	if len(blocks) != len(ends) {
		t.Fatalf("%d blocks of %d parts", len(blocks), len(ends))
	}
	for _, p := range rng.Perm(len(blocks)) {
		from := 0
		if p > 0 {
			from = ends[p-1]
		}
		if got, want := blocks[p].Rows(), ends[p]-from; got != want {
			t.Fatalf("part %d has %d rows, want %d", p, got, want)
		}
		comparePicks(t, s, blocks[p], plain, order[from:ends[p]])
		blocks[p].Release()
		if held := blocks[p].Bytes(); p+1 < len(blocks) && held != 0 {
			t.Errorf("part %d holds %d bytes when it is released", p, held)
		}
	}
}

// Without an order the rows of parts are those of the file.
func TestDecodePartsWithoutOrder(t *testing.T) {
	m, d := openDecoder(t, writeRows(t, [][]everyRow{randomRows(4, 90)}), Options{})
	raw := fetch(t, m, Rows{Hi: 90})
	plain, err := d.whole(raw, Layout{})
	if err != nil {
		t.Fatal(err)
	}
	l, order := Layout{Part: make([]uint8, 90), Parts: 3}, make([]uint32, 90)
	for i := range order {
		order[i], l.Part[i] = uint32(i), uint8(1+i/30)
	}
	blocks, err := d.Decode(raw, l)
	if err != nil {
		t.Fatal(err)
	}
	compareParts(t, rand.New(rand.NewPCG(1, 1)), m.Schema(), blocks, plain, order, []int{30, 60, 90})
	one, err := d.Decode(raw, Layout{})
	if err != nil || len(one) != 1 {
		t.Fatalf("%d blocks of one part, %v", len(one), err)
	}
	comparePicks(t, m.Schema(), one[0], plain, order)
	one[0].Release()
	plain.Release()
}

func TestDecodePartsRefusesOrder(t *testing.T) {
	m, d := openDecoder(t, writeRows(t, [][]tensorRow{make([]tensorRow, 4)}), Options{})
	raw := fetch(t, m, Rows{Hi: 4})
	for name, l := range map[string]Layout{
		"back and forth": {Parts: 2, Part: []uint8{1, 2, 1, 2}},
		"part 0":         {Parts: 2, Part: []uint8{0, 1, 2, 2}},
		"a part beyond":  {Parts: 2, Part: []uint8{1, 2, 2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := d.Decode(raw, l); !errors.Is(err, errDivision) {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := d.Decode(raw, Layout{Parts: 2, Order: []uint32{0, 1, 4}, Part: make([]uint8, 4)}); err == nil {
		t.Error("an order of rows that are not there is taken")
	}
}

type narrowRow struct {
	ID    int64    `parquet:"id,plain"`
	Score *float64 `parquet:"score,optional,plain"`
	Text  string   `parquet:"text,plain"`
	Words []int32  `parquet:"words,list"`
	Label string   `parquet:"label,dict"`
}

// All columns of a part go with it: narrow ones too, texts and lists among them. What is left for
// the last part is its own and the dictionary. The estimate of the rest is not below that, and not
// far above.
func TestPartsHoldAllColumns(t *testing.T) {
	const rows, parts = 20_000, 10
	all := make([]narrowRow, rows)
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range all {
		all[i] = narrowRow{ID: int64(i), Score: some(rng, 0.5), Text: strings.Repeat("word ", i%20), Words: make([]int32, i%13), Label: strings.Repeat("x", i%100)}
	}
	m := openBytes(t, Options{}, map[string][]byte{"a.parquet": writeRows(t, [][]narrowRow{all}, parquet.PageBufferSize(50_000))})
	pool := &mem.Pool{}
	d := newDecoder(pool, false)
	defer d.Close()
	l := Layout{Parts: parts, Part: make([]uint8, rows)}
	for i := range l.Part {
		l.Part[i] = uint8(1 + i*parts/rows)
	}
	blocks, err := d.Decode(fetch(t, m, Rows{Hi: rows}), l)
	if err != nil {
		t.Fatal(err)
	}
	narrow, wide := m.DecodedBytes(0)
	whole := m.WholeBytes(0)
	held := int64(0)
	for _, b := range blocks {
		held += b.Bytes()
	}
	if most := narrow + wide + narrow/16 + parts*64<<10; held > most {
		t.Errorf("%d bytes are held, %d foretold", held, most)
	}
	for _, b := range blocks[:parts-1] {
		if got, mean := b.Bytes(), (narrow+wide-whole)/parts; got < mean/2 || got > mean+128<<10 {
			t.Errorf("a part takes %d bytes, the mean is %d", got, mean)
		}
		b.Release()
	}
	last := blocks[parts-1]
	left := last.Bytes()
	if most := whole + (narrow+wide)/parts + 128<<10; left > most {
		t.Errorf("%d bytes are left for the last part, %d foretold: of %d", left, most, held)
	}
	dictionary := last.Bytes() - block.Memory(last).Bytes()
	if dictionary > whole || whole > 3*dictionary+64<<10 {
		t.Errorf("what is not divided takes %d bytes, %d foretold", dictionary, whole)
	}
	last.Release()
	if left := last.Bytes(); left != 0 {
		t.Errorf("%d bytes are left after the last", left)
	}
}

// A dictionary that parts share is mapped once, and what it became is shared too. A value that
// cannot be mapped is an error in whatever part it is.
func TestRecodeParts(t *testing.T) {
	rows := make([]narrowRow, 60)
	for i := range rows {
		rows[i] = narrowRow{ID: int64(i), Label: string(rune('a' + i%7))}
	}
	rows[50].Label = "?"
	m, d := openDecoder(t, writeRows(t, [][]narrowRow{rows}), Options{})
	l := Layout{Parts: 3, Part: make([]uint8, 60)}
	for i := range l.Part {
		l.Part[i] = uint8(1 + i/20)
	}
	blocks, err := d.Decode(fetch(t, m, Rows{Hi: 60}), l)
	if err != nil {
		t.Fatal(err)
	}
	calls, odd := 0, errors.New("odd")
	field := &column.Field{Name: "label", Kind: column.Fixed, Type: column.TypeUint8, Width: 1}
	letters := func(dst, value []byte) error {
		if calls++; value[0] == '?' {
			return odd
		}
		dst[0] = value[0] - 'a'
		return nil
	}
	const label = 4
	if err := RecodeParts(blocks[:2], label, field, letters); err != nil || calls != 8 {
		t.Errorf("%d entries were mapped, %v", calls, err)
	}
	if err := RecodeParts(blocks[2:], label, field, letters); !errors.Is(err, odd) {
		t.Errorf("the last part has a value that cannot be mapped: %v", err)
	}
	if err := RecodeParts(blocks, 0, &column.Field{Name: "id", Kind: column.Fixed, Type: column.TypeUint8, Width: 1}, func(dst, value []byte) error {
		dst[0] = 255 - value[0]
		return nil
	}); err != nil {
		t.Error(err)
	}
	var g Gatherer
	for p, b := range blocks[:2] {
		picks := []Pick{MakePick(0, 3), MakePick(0, 19)}
		got, err := g.Gather(label, field, []*Block{b}, picks, heap)
		if err != nil || got.Data[0] != byte((20*p+3)%7) || got.Data[1] != byte((20*p+19)%7) {
			t.Errorf("part %d: %v, %v", p, got.Data, err)
		}
		ids, err := g.Gather(0, &column.Field{Name: "id", Kind: column.Fixed, Type: column.TypeUint8, Width: 1}, []*Block{b}, picks, heap)
		if err != nil || ids.Data[0] != byte(255-20*p-3) || ids.Data[1] != byte(255-20*p-19) {
			t.Errorf("part %d: %v, %v", p, ids.Data, err)
		}
	}
	for _, b := range blocks {
		b.Release()
	}
}

// Values that stay where they lie, because they are long or because many rows have one of them, are
// recoded for the rows of each block alone.
func TestRecodeInOrder(t *testing.T) {
	const rows = 60
	text := craftLeaf(format.ByteArray, 0, 0, textField)
	var all []string
	for i := range rows {
		all = append(all, strings.Repeat("x", 100)+string(rune('0'+i)))
	}
	long := new(craft).v1(rows, format.Plain, format.RLE, plainText(all...))
	repeats := new(craft).dict(1, plainText(all[0])).v1(rows-1, format.RLEDictionary, format.RLE, codes8(1, repeated(rows-1, 0)...)).
		v1(1, format.Plain, format.RLE, plainText(all[rows-1]))
	order := make([]uint32, 0, rows/2)
	for i := range rows / 2 {
		order = append(order, uint32(rows-1-i))
	}
	part := make([]uint8, rows)
	for i := range part {
		part[i] = uint8(2 - i/45)
	}
	field := &column.Field{Name: "c", Kind: column.Fixed, Type: column.TypeUint8, Width: 1}
	for name, c := range map[string]struct {
		c    *craft
		l    Layout
		want func(row uint32) byte
	}{
		"long":    {long, Layout{Order: order}, func(row uint32) byte { return byte(row) }},
		"repeats": {repeats, Layout{Order: order, Parts: 2, Part: part}, func(row uint32) byte { return byte(row / (rows - 1) * row) }},
	} {
		t.Run(name, func(t *testing.T) {
			pool := &mem.Pool{}
			d := newDecoder(pool, refuseUTF8)
			defer d.Close()
			blocks, err := d.Decode(&Raw{Rows: Rows{Hi: rows}, columns: []*schema.Node{text}, chunks: []rawChunk{c.c.chunk(text.Leaf, rows)}}, c.l)
			if err != nil {
				t.Fatal(err)
			}
			calls := 0
			if err := RecodeParts(blocks, 0, field, func(dst, value []byte) error {
				dst[0] = value[100] - '0'
				calls++
				return nil
			}); err != nil || calls != len(order) {
				t.Errorf("%d values were mapped, %v", calls, err)
			}
			var g Gatherer
			left := order
			for _, b := range blocks {
				for i, row := range left[:b.Rows()] {
					got, err := g.Gather(0, field, []*Block{b}, []Pick{MakePick(0, i)}, heap)
					if err != nil || got.Data[0] != c.want(row) {
						t.Errorf("row %d: %v, %v", row, got.Data, err)
					}
				}
				left = left[b.Rows():]
				b.Release()
			}
		})
	}
}
