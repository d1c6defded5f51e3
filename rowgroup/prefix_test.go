package rowgroup

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// linear is n values in the DELTA_BINARY_PACKED encoding, each step more than the one before.
func linear(n int, first, step int64) []byte {
	b := binary.AppendUvarint([]byte{128, 1, 4}, uint64(n))
	b = binary.AppendVarint(b, first)
	for i := 1; i < n; i += 128 {
		b = append(binary.AppendVarint(b, step), 0, 0, 0, 0)
	}
	return b
}

// deltaPacked is values in the DELTA_BINARY_PACKED encoding, differences in 32 bits.
func deltaPacked(vs []int64) []byte {
	b := binary.AppendUvarint([]byte{128, 1, 4}, uint64(len(vs)))
	b = binary.AppendVarint(b, vs[0])
	for i := 1; i < len(vs); i += 128 {
		b = append(binary.AppendVarint(b, 0), 32, 32, 32, 32)
		for k := range min(128, (len(vs)-i+31)/32*32) {
			difference := int32(0)
			if i+k < len(vs) {
				difference = int32(vs[i+k] - vs[i+k-1])
			}
			b = binary.LittleEndian.AppendUint32(b, uint32(difference))
		}
	}
	return b
}

// prefixPage is a page of byte strings in DELTA_BYTE_ARRAY.
func prefixPage(vs []string) []byte {
	prefixes, suffixes := make([]int64, len(vs)), make([]int64, len(vs))
	var bytes []byte
	last := ""
	for i, v := range vs {
		n := 0
		for n < min(len(v), len(last)) && v[n] == last[n] {
			n++
		}
		prefixes[i], suffixes[i] = int64(n), int64(len(v)-n)
		bytes, last = append(bytes, v[n:]...), v
	}
	return slices.Concat(deltaPacked(prefixes), deltaPacked(suffixes), bytes)
}

// Values share bytes or not, in one block and in parts.
func TestDeltaBytesThatShare(t *testing.T) {
	long := strings.Repeat("가나", 400)
	for name, vs := range map[string][]string{
		"repeated":    {long, long, long, long},
		"shorter":     {long, long[:900], long[:900], long[:300], "", "x", "x"},
		"longer":      {"", "가", "가나", "가나다", "가나다" + long, "가나다" + long},
		"other ends":  {long, long + "a", long + "b", long + "b", long, "b", long},
		"empty":       {"", "", "", ""},
		"cut, longer": {long, long[:1200], long[:1200] + "b", long[:1200] + "bc", long[:1200]},
	} {
		vs = often(vs)
		for layout, l := range map[string]Layout{
			"one": {}, "parts": {Part: dealt(len(vs), 2), Parts: 2}, "wide": {Part: dealt(len(vs), 3), Parts: 3, wide: 1},
		} {
			t.Run(name+" "+layout, func(t *testing.T) {
				text := craftLeaf(format.ByteArray, 0, 0, textField)
				page := new(craft).v1(len(vs), format.DeltaByteArray, format.RLE, prefixPage(vs))
				got, err := decodeCrafted(text, len(vs), l, refuseUTF8, page.chunk(text.Leaf, len(vs)))
				if want := fmt.Sprintf("%q", vs); err != nil || "["+got+"]" != want {
					t.Errorf("got %.300s, %v; want %.300s", got, err, want)
				}
			})
		}
	}
}

// often is each value so many times that values share bytes.
func often(vs []string) (all []string) {
	for _, v := range vs {
		all = append(all, slices.Repeat([]string{v}, 40)...)
	}
	return all
}

// dealt divides rows among parts, one after the other.
func dealt(rows, parts int) []uint8 {
	of := make([]uint8, rows)
	for i := range of {
		of[i] = uint8(1 + i%parts)
	}
	return of
}

// A shared value that ends within a character is not UTF-8, whatever follows its bytes.
func TestDeltaBytesThatCutCharacters(t *testing.T) {
	text := craftLeaf(format.ByteArray, 0, 0, textField)
	long := strings.Repeat("가", 200)
	cut := long[:len(long)-2]
	vs := often([]string{long, cut}) // what follows the last completes its character
	page := new(craft).v1(len(vs), format.DeltaByteArray, format.RLE, prefixPage(vs))
	if _, err := decodeCrafted(text, len(vs), Layout{}, refuseUTF8, page.chunk(text.Leaf, len(vs))); err == nil || !strings.Contains(err.Error(), "not UTF-8") {
		t.Error(err)
	}
	got, err := decodeCrafted(text, len(vs), Layout{}, replaceUTF8, page.chunk(text.Leaf, len(vs)))
	for i, v := range vs {
		vs[i] = strings.ToValidUTF8(v, "\ufffd")
	}
	if want := fmt.Sprintf("%q", vs); err != nil || "["+got+"]" != want {
		t.Errorf("got %.3000s, %v; want %.3000s", got, err, want)
	}
}

// A long text that all rows repeat takes its bytes once, however many the rows are.
func TestDeltaBytesOfARepeatedText(t *testing.T) {
	const rows, size = 20_000, 1 << 20
	prefixes, suffixes := make([]int64, rows), make([]int64, rows)
	for i := range rows {
		prefixes[i] = size
	}
	prefixes[0], suffixes[0] = 0, size
	page := slices.Concat(deltaPacked(prefixes), deltaPacked(suffixes), bytes.Repeat([]byte("x"), size))
	text := craftLeaf(format.ByteArray, 0, 0, textField)
	chunk := new(craft).v1(rows, format.DeltaByteArray, format.RLE, page).chunk(text.Leaf, rows)
	few := make([]uint32, rows/4)
	for i := range few {
		few[i] = uint32(rows - 1 - 3*i)
	}
	for name, l := range map[string]Layout{
		"all": {}, "parts": {Part: dealt(rows, 16), Parts: 16}, "wide parts": {Part: dealt(rows, 16), Parts: 16, wide: 1}, "few": {Order: few},
	} {
		t.Run(name, func(t *testing.T) {
			pool := &mem.Pool{Limit: 64 << 20}
			d := newDecoder(pool, refuseUTF8)
			defer d.Close()
			if l.Parts > 1 {
				l.Order = byPart(l)
			}
			blocks, err := d.Decode(&Raw{Rows: Rows{Hi: rows}, uri: "mem://crafted", columns: []*schema.Node{text}, chunks: []rawChunk{chunk}}, l)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range blocks {
				for i := range b.Rows() {
					if v := binaryValue(block.Columns(b)[0], block.Columns(b)[0].Place(i)); len(v) != size || v[size-1] != 'x' {
						t.Fatalf("row %d of %d bytes", i, len(v))
					}
				}
				b.Release()
			}
		})
	}
}

// Values that share ever longer prefixes with others between them fill memory from a few bytes, as
// far as the limit goes.
func TestDeltaBytesThatGrow(t *testing.T) {
	text := craftLeaf(format.ByteArray, 0, 0, textField)
	for n, fails := range map[int]bool{1000: false, 10_000: true} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			prefixes, suffixes := make([]int64, n), make([]int64, n)
			for i := range n {
				prefixes[i], suffixes[i] = max(0, int64(i-1)), min(2, int64(i+1))
			}
			body := slices.Concat(deltaPacked(prefixes), deltaPacked(suffixes), bytes.Repeat([]byte("x"), 2*n))
			chunk := new(craft).v1(n, format.DeltaByteArray, format.RLE, body).chunk(text.Leaf, n)
			d := newDecoder(&mem.Pool{Limit: 32 << 20}, refuseUTF8)
			defer d.Close()
			blocks, err := d.Decode(&Raw{Rows: Rows{Hi: int64(n)}, uri: "mem://crafted", columns: []*schema.Node{text}, chunks: []rawChunk{chunk}}, Layout{})
			for _, b := range blocks {
				b.Release()
			}
			if fails != errors.Is(err, ErrTooLarge) || !fails && err != nil {
				t.Errorf("%d values: %v", n, err)
			}
		})
	}
}

// A row that is larger than the memory is named: fewer rows cannot be decoded.
func TestOneRowBeyondMemory(t *testing.T) {
	const n = 1 << 20
	text := craftLeaf(format.ByteArray, 0, 0, textField)
	long := plainText(string(bytes.Repeat([]byte("x"), n)))
	chunk := new(craft).v1(2, format.Plain, format.RLE, plainText("a"), long).chunk(text.Leaf, 2)
	d := newDecoder(&mem.Pool{}, refuseUTF8)
	defer d.Close()
	for _, c := range []struct {
		rows Rows
		want string
	}{
		{Rows{Lo: 1, Hi: 2, RowGroup: 3}, `mem://crafted: row group 3, column "c": row 1 alone is too large, and no less than a row can be decoded: at least `},
		{Rows{Hi: 2, RowGroup: 3}, `mem://crafted: row group 3, column "c": 1`},
	} {
		d.Allow(0, func(n int64) error { return &mem.OverLimit{Need: mem.Amounts{mem.Decode: n}, Limit: 64 << 10} })
		_, err := d.Decode(&Raw{Rows: c.rows, uri: "mem://crafted", columns: []*schema.Node{text}, chunks: []rawChunk{chunk}}, Layout{})
		if err == nil || !errors.Is(err, ErrTooLarge) || !strings.HasPrefix(err.Error(), c.want) || !strings.Contains(err.Error(), "raise Memory") {
			t.Errorf("rows %d to %d: %v", c.rows.Lo, c.rows.Hi, err)
		}
	}
}
