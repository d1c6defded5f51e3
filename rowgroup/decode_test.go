package rowgroup

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
)

type inner struct {
	A int32   `parquet:"a"`
	B *string `parquet:"b,optional"`
}

// everyRow has a column of each form that parquet-go writes.
type everyRow struct {
	Bool       bool             `parquet:"bool"`
	OptBool    *bool            `parquet:"opt_bool,optional"`
	I8         int8             `parquet:"i8"`
	U16        *uint16          `parquet:"u16,optional"`
	I32        int32            `parquet:"i32,plain"`
	OptI32     *int32           `parquet:"opt_i32,optional,plain"`
	DeltaI32   int32            `parquet:"delta_i32,delta"`
	DictI32    *int32           `parquet:"dict_i32,optional,dict"`
	I64        int64            `parquet:"i64,plain"`
	DeltaI64   int64            `parquet:"delta_i64,delta"`
	DictI64    int64            `parquet:"dict_i64,dict"`
	F32        float32          `parquet:"f32,split"`
	F64        *float64         `parquet:"f64,optional,split"`
	Dict64     *float64         `parquet:"dict_f64,optional,dict"`
	UUID       [16]byte         `parquet:"uuid"`
	Fixed      [5]byte          `parquet:"fixed,delta"`
	SplitFixed [6]byte          `parquet:"split_fixed,split"`
	DictFixed  [5]byte          `parquet:"dict_fixed,dict"`
	Text       string           `parquet:"text,plain"`
	OptText    *string          `parquet:"opt_text,optional,plain"`
	Lengths    *string          `parquet:"lengths,optional"`
	Prefixes   string           `parquet:"prefixes,delta"`
	DictText   *string          `parquet:"dict_text,optional,dict"`
	Bytes      []byte           `parquet:"bytes,plain"`
	Tokens     []int32          `parquet:"tokens,list"`
	Pair       []float32        `parquet:"pair,list"`
	Bare       []int64          `parquet:"bare"`
	DictItems  []int32          `parquet:"dict_items,dict"`
	Words      []string         `parquet:"words,list"`
	OptList    []int32          `parquet:"opt_list,optional,list"`
	NullItems  []*int32         `parquet:"null_items,list"`
	Group      inner            `parquet:"group"`
	OptGroup   *inner           `parquet:"opt_group,optional"`
	Groups     []inner          `parquet:"groups,list"`
	Lists      []inner2         `parquet:"lists,list"`
	Map        map[string]int32 `parquet:"map"`
	MapOfGroup map[int32]inner  `parquet:"map_of_group"`
}

type inner2 struct {
	C []string `parquet:"c,list"`
	D []inner  `parquet:"d"`
	E *inner   `parquet:"e,optional"`
}

// some returns a pointer to v, or nil one time in three.
func some[T any](r *rand.Rand, v T) *T {
	if r.IntN(3) == 0 {
		return nil
	}
	return &v
}

func manyOf[T any](r *rand.Rand, most int, one func() T) []T {
	s := make([]T, r.IntN(most+1))
	for i := range s {
		s[i] = one()
	}
	return s
}

func randomText(r *rand.Rand) string {
	words := []string{"", "a", "word", "가나다", "naïve", strings.Repeat("long ", 30)}
	return words[r.IntN(len(words))] + words[r.IntN(len(words))]
}

func randomInner(r *rand.Rand) inner { return inner{A: r.Int32(), B: some(r, randomText(r))} }

func randomRow(r *rand.Rand) everyRow {
	e := everyRow{
		Bool: r.IntN(2) == 0, OptBool: some(r, r.IntN(2) == 0), I8: int8(r.Int32()), U16: some(r, uint16(r.Int32())),
		I32: r.Int32(), OptI32: some(r, r.Int32()), DeltaI32: r.Int32() - r.Int32(), DictI32: some(r, r.Int32N(9)),
		I64: r.Int64(), DeltaI64: r.Int64() - r.Int64(), DictI64: r.Int64N(300), F32: r.Float32(), F64: some(r, r.Float64()),
		Dict64: some(r, float64(r.IntN(1000))), Text: randomText(r), OptText: some(r, randomText(r)), Lengths: some(r, randomText(r)),
		Prefixes: fmt.Sprintf("prefix/%03d/%s", r.IntN(40), randomText(r)), DictText: some(r, fmt.Sprint("d", r.IntN(20))),
		Bytes:  []byte(randomText(r)),
		Tokens: manyOf(r, 9, r.Int32), Pair: []float32{r.Float32(), r.Float32()}, Bare: manyOf(r, 3, r.Int64),
		DictItems: manyOf(r, 4, func() int32 { return r.Int32N(5) }), Words: manyOf(r, 4, func() string { return randomText(r) }),
		NullItems: manyOf(r, 4, func() *int32 { return some(r, r.Int32()) }),
		Group:     randomInner(r), OptGroup: some(r, randomInner(r)), Groups: manyOf(r, 3, func() inner { return randomInner(r) }),
		Lists: manyOf(r, 2, func() inner2 {
			return inner2{
				C: manyOf(r, 2, func() string { return randomText(r) }), D: manyOf(r, 2, func() inner { return randomInner(r) }),
				E: some(r, randomInner(r)),
			}
		}),
	}
	for _, b := range [][]byte{e.UUID[:], e.Fixed[:], e.SplitFixed[:]} {
		for i := range b {
			b[i] = byte(r.Int32N(3))
		}
	}
	e.DictFixed[r.IntN(5)] = 1
	if r.IntN(3) > 0 {
		e.OptList = manyOf(r, 3, r.Int32)
	}
	if r.IntN(3) > 0 { // of one pair, since Go's maps have no order
		e.Map = map[string]int32{randomText(r): r.Int32()}
		e.MapOfGroup = map[int32]inner{r.Int32(): randomInner(r)}
	}
	return e
}

func randomRows(seed uint64, n int) []everyRow {
	r := rand.New(rand.NewPCG(seed, 7))
	rows := make([]everyRow, n)
	for i := range rows {
		rows[i] = randomRow(r)
	}
	return rows
}

func TestDecodeEveryForm(t *testing.T) {
	rows := randomRows(1, 320)
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd, &parquet.Brotli, &parquet.Lz4Raw} {
		for version := 1; version <= 2; version++ {
			t.Run(fmt.Sprint(codec, " v", version), func(t *testing.T) {
				file := writeRows(t, [][]everyRow{rows[:200], rows[200:201], rows[201:]},
					parquet.Compression(codec), parquet.DataPageVersion(version), parquet.PageBufferSize(900))
				m, d := openDecoder(t, file, Options{})
				for g, want := range [][]everyRow{rows[:200], rows[200:201], rows[201:]} {
					decodeUnit(t, m, d, Rows{RowGroup: g, Hi: int64(len(want))}, func(b *Block) { checkBlock(t, b, want) })
				}
			})
		}
	}
}

// Parts of a row group, with and without a page index, and rows spread over parts of a block.
func TestDecodeSlices(t *testing.T) {
	rows := randomRows(2, 220)
	r := rand.New(rand.NewPCG(3, 4))
	for version := 1; version <= 2; version++ {
		file := writeRows(t, [][]everyRow{rows}, parquet.DataPageVersion(version), parquet.PageBufferSize(400), parquet.Compression(&parquet.Snappy))
		m, d := openDecoder(t, file, Options{})
		for range 25 {
			lo := r.IntN(len(rows))
			hi := lo + r.IntN(len(rows)-lo+1)
			u := Rows{Lo: int64(lo), Hi: int64(hi)}
			l, want := Layout{}, rows[lo:hi]
			if r.IntN(2) == 0 {
				l = Layout{Parts: 3, wide: 1, Part: make([]uint8, hi-lo)}
				for i := range l.Part {
					l.Part[i] = uint8(1 + r.IntN(3))
				}
				l.Order = byPart(l)
				want = nil
				for _, row := range l.Order {
					want = append(want, rows[lo+int(row)])
				}
			}
			d.Materialize = r.IntN(2) == 0
			all := fetch(t, m, Rows{Hi: int64(len(rows))}) // as if there were no index: all pages at hand
			all.Rows = u
			for _, raw := range []*Raw{fetch(t, m, u), all} {
				blocks, err := d.Decode(raw, l)
				if err != nil {
					t.Fatal(err)
				}
				left := want
				for _, b := range blocks {
					checkBlock(t, b, left[:b.Rows()])
					left = left[b.Rows():]
					b.Release()
				}
				if len(left) > 0 {
					t.Errorf("%d rows are missing", len(left))
				}
			}
		}
	}
}

func TestDecodeProjection(t *testing.T) {
	rows := randomRows(5, 200)
	file := writeRows(t, [][]everyRow{rows}, parquet.PageBufferSize(500))
	for _, columns := range []string{"text", "lists", "map_of_group,bool", "dict_text,tokens,opt_group"} {
		m, d := openDecoder(t, file, Options{Columns: strings.Split(columns, ",")})
		decodeUnit(t, m, d, Rows{Hi: 200}, func(b *Block) {
			if len(block.Columns(b)) != len(strings.Split(columns, ",")) {
				t.Fatalf("%d columns", len(block.Columns(b)))
			}
			checkBlock(t, b, rows)
		})
	}
}

func TestDecodeShop(t *testing.T) {
	store, shards := shopShards(t)
	m, err := Open(context.Background(), store, shards, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	pool := &mem.Pool{}
	d := newDecoder(pool, false)
	defer d.Close()
	images := 0
	for _, g := range m.Groups() {
		decodeUnit(t, m, d, Rows{Shard: int(g.Shard), RowGroup: int(g.RowGroup), Hi: g.Rows}, func(b *Block) {
			for i := range b.Rows() {
				if img := binaryValue(block.Columns(b)[1], i); len(img) > 2 && img[0] == 0xff && img[1] == 0xd8 {
					images++
				}
			}
		})
	}
	if images != 2026 {
		t.Errorf("%d JPEG images, want 2026", images)
	}
}

// What a pass allocates does not grow with rows or pages: scratch is kept.
func TestDecodeAllocatesNothingPerRow(t *testing.T) {
	type row struct {
		ID     int64   `parquet:"id,plain"`
		Text   *string `parquet:"text,optional,plain"`
		Label  string  `parquet:"label,dict"`
		Tokens []int32 `parquet:"tokens,list"`
	}
	allocs := func(n int) float64 {
		r := rand.New(rand.NewPCG(1, 1))
		rows := make([]row, n)
		for i := range rows {
			rows[i] = row{int64(i), some(r, "text"), "label", manyOf(r, 5, r.Int32)}
		}
		m, d := openDecoder(t, writeRows(t, [][]row{rows}, parquet.PageBufferSize(500), parquet.Compression(&parquet.Snappy)), Options{})
		raw := fetch(t, m, Rows{Hi: int64(n)})
		return testing.AllocsPerRun(5, func() {
			b, err := d.whole(raw, Layout{})
			if err != nil {
				t.Fatal(err)
			}
			b.Release()
		})
	}
	if few, many := allocs(100), allocs(10_000); many > few+3 {
		t.Errorf("%.0f allocations for 100 rows, %.0f for 10,000", few, many)
	}
}
