package rowgroup

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/mem"
)

// encodedColumns are columns of a few bytes that become large.
func encodedColumns(rows int) map[string]struct {
	schema string
	column *craft
} {
	zstd := func() *craft { return &craft{codec: format.Zstd} }
	nulls := sized32(repeated(rows, 0)...)
	codes := func(width byte) []byte {
		return codes8(width, repeated(rows, 0)[:len(repeated(rows, 0))-1+int(width+7)/8]...)
	}
	entries := func(n int) []byte {
		vs := make([]int64, n)
		for i := range vs {
			vs[i] = int64(n - i)
		}
		return le64(vs...)
	}
	return map[string]struct {
		schema string
		column *craft
	}{
		"nulls of an empty dictionary":      {`optional int64 a;`, zstd().dict(0).v1(rows, format.RLEDictionary, format.RLE, nulls)},
		"text nulls of an empty dictionary": {`optional binary a (UTF8);`, zstd().dict(0).v1(rows, format.RLEDictionary, format.RLE, nulls)},
		"plain nulls":                       {`optional int64 a;`, zstd().v1(rows, format.Plain, format.RLE, nulls)},
		"plain text nulls":                  {`optional binary a (UTF8);`, zstd().v1(rows, format.Plain, format.RLE, nulls)},
		"nulls of bytes":                    {`optional int32 a (INT_8);`, zstd().v1(rows, format.Plain, format.RLE, nulls)},
		"null lists":                        {`optional group a (LIST) { repeated group list { optional int32 element; } }`, zstd().v1(rows, format.Plain, format.RLE, nulls, nulls)},
		"null texts in lists":               {`optional group a (LIST) { repeated group list { optional binary element; } }`, zstd().dict(0).v1(rows, format.RLEDictionary, format.RLE, nulls, sized32(repeated(rows, 2)...))},
		"null structs":                      {`optional group a { optional int64 b; }`, zstd().dict(0).v1(rows, format.RLEDictionary, format.RLE, nulls)},
		"booleans":                          {`required boolean a;`, zstd().v1(rows, format.RLE, format.RLE, sized32(repeated(rows, 1)...))},
		"steps":                             {`required int64 a;`, zstd().v1(rows, format.DeltaBinaryPacked, format.RLE, linear(rows, 5, 3))},
		"converted steps":                   {`required int32 a (INT_16);`, zstd().v1(rows, format.DeltaBinaryPacked, format.RLE, linear(rows, 0, 0))},
		"one number":                        {`required int64 a;`, zstd().dict(1, le64(7)).v1(rows, format.RLEDictionary, format.RLE, codes(1))},
		"one text":                          {`required binary a (UTF8);`, zstd().dict(1, plainText(strings.Repeat("x", 1000))).v1(rows, format.RLEDictionary, format.RLE, codes(0))},
		"300 entries":                       {`required int64 a;`, zstd().dict(300, entries(300)).v1(rows, format.RLEDictionary, format.RLE, codes(9))},
		"5000 entries":                      {`required int64 a;`, zstd().dict(5000, entries(5000)).v1(rows, format.RLEDictionary, format.RLE, codes(13))},
		"zeros":                             {`required double a;`, zstd().v1(rows, format.Plain, format.RLE, make([]byte, 8*rows))},
	}
}

// Columns of any encoding take no more memory than is foretold of their rows, and their decoder no
// more scratch: whole groups and slices, in the file's order, in another one, and in parts.
func TestEncodedColumnsAreForetold(t *testing.T) {
	const rows = 300_000
	order := make([]uint32, rows)
	for i, r := range rand.New(rand.NewPCG(3, 4)).Perm(rows) {
		order[i] = uint32(r)
	}
	const parts = 4
	layout := Layout{Order: order, Part: make([]uint8, rows), Parts: parts}
	for i, r := range order {
		layout.Part[r] = uint8(1 + i*parts/rows)
	}
	for name, c := range encodedColumns(rows) {
		m := openBytes(t, Options{}, map[string][]byte{"a.parquet": craftFile(t, c.schema, rows, c.column)})
		narrow, wide := m.DecodedBytes(0)
		for form, l := range map[string]Layout{"file": {}, "ordered": {Order: order}, "parts": layout} {
			t.Run(name+"/"+form, func(t *testing.T) {
				taken, peak := decodedSizes(t, m, Rows{Hi: rows}, l)
				most := narrow + wide + int64(4*len(l.Order)) // the order stays with rows that cannot be moved
				if l.Parts > 0 {
					most += int64(l.Parts)*(64<<10) + narrow/16
				}
				if taken > most {
					t.Errorf("%d bytes taken, %d foretold", taken, most)
				}
				if most += m.Scratch(0).Of(rows, rows, l.Order != nil); peak > most {
					t.Errorf("%d bytes at the peak, %d foretold", peak, most)
				}
			})
		}
		for _, kept := range []int{rows / 2, rows / 3, rows / 50, 1} {
			for form, l := range map[string]Layout{"kept": {Order: order[:kept]}, "kept in parts": {Order: order[:kept], Part: layout.Part, Parts: parts}} {
				t.Run(fmt.Sprint(name, "/", form, " ", kept), func(t *testing.T) {
					taken, peak := decodedSizes(t, m, Rows{Hi: rows}, l)
					k := m.KeptBytes(0, int64(kept))
					if most := k.Narrow + k.Wide + k.Narrow/16 + int64(4*kept+max(1, l.Parts)*64<<10); taken > most {
						t.Errorf("%d bytes taken, %d foretold", taken, most)
					}
					if k.Most < k.Narrow || k.Whole > k.Narrow {
						t.Errorf("%+v", k)
					}
					most := k.Most + int64(4*kept+max(1, l.Parts)*64<<10) + k.Narrow/16 + m.Scratch(0).OfKept(int64(kept), rows, rows)
					if peak > most {
						t.Errorf("%d bytes at the peak, %d foretold", peak, most)
					}
				})
			}
		}
		t.Run(name+"/slice", func(t *testing.T) {
			const part = 16
			taken, peak := decodedSizes(t, m, Rows{Lo: rows / part, Hi: 2 * rows / part}, Layout{})
			if !m.columnsOf(0)[0].IsMovable() {
				return // its pages stay as they are
			}
			most := narrow/part + narrow/8/part + 48<<10
			if taken > most {
				t.Errorf("%d bytes taken, %d foretold", taken, most)
			}
			if most += m.Scratch(0).Of(rows/part, rows, false) + 4*rows/part; peak > most {
				t.Errorf("%d bytes at the peak, %d foretold", peak, most)
			}
		})
	}
}

// decodedSizes is the memory of the blocks of a unit and the most that their decoder held.
func decodedSizes(t *testing.T, m *Reader, u Rows, l Layout) (taken, peak int64) {
	t.Helper()
	pool := &mem.Pool{}
	d := newDecoder(pool, false)
	defer d.Close()
	blocks, err := d.Decode(fetch(t, m, u), l)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		taken += b.Bytes()
	}
	for _, b := range blocks {
		b.Release()
	}
	return taken, pool.Stats().Peak
}
