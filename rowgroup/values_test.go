package rowgroup

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

func fixedNode(typ schema.Physical, length int, conv schema.Convert, f column.Field) *schema.Node {
	n := craftLeaf(typ, 0, 0, f)
	n.Leaf.TypeLength, n.Leaf.Convert = length, conv
	return n
}

func le64(vs ...int64) (b []byte) {
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return b
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// What stored values become, plain and by a dictionary.
func TestConvert(t *testing.T) {
	fixed := func(typ column.Type, width int) column.Field {
		return column.Field{Kind: column.Fixed, Type: typ, Width: width}
	}
	dec8, dec16, dec32 := fixed(column.TypeDecimal, 8), fixed(column.TypeDecimal, 16), fixed(column.TypeDecimal, 32)
	minus2 := strings.Repeat("ff", 7)
	for _, c := range []struct {
		name string
		n    *schema.Node
		body []byte
		want string // of two values; "!" and an error
	}{
		{"int8", fixedNode(format.Int32, 0, schema.ConvertNarrow, fixed(column.TypeInt8, 1)), le32(-2, 127), "fe 7f"},
		{"uint16", fixedNode(format.Int32, 0, schema.ConvertNarrow, fixed(column.TypeUint16, 2)), le32(65535, 1), "ffff 0100"},
		{"int32 to int64", fixedNode(format.Int32, 0, schema.ConvertWidenInt, fixed(column.TypeInt64, 8)), le32(-2, 3), "fe" + minus2 + " 0300000000000000"},
		{"uint32 to int64", fixedNode(format.Int32, 0, schema.ConvertWidenUint, fixed(column.TypeInt64, 8)), le32(-2, 3), "feffffff00000000 0300000000000000"},
		{"float to double", fixedNode(format.Float, 0, schema.ConvertWidenFloat, fixed(column.TypeFloat64, 8)), le32(int32(math.Float32bits(1.5)), 0), "000000000000f83f 0000000000000000"},
		{"decimal of int32", fixedNode(format.Int32, 0, schema.ConvertDecimal, dec8), le32(-2, 3), "fe" + minus2 + " 0300000000000000"},
		{"decimal of int64", fixedNode(format.Int64, 0, schema.ConvertDecimal, dec16), le64(-2, 3), "fe" + minus2 + strings.Repeat("ff", 8) + " 03" + strings.Repeat("00", 15)},
		{"decimal of 3 bytes", fixedNode(format.FixedLenByteArray, 3, schema.ConvertDecimal, dec8), unhex("fffffe 010203"), "fe" + minus2 + " 0302010000000000"},
		{
			"decimal of 20 bytes", fixedNode(format.FixedLenByteArray, 20, schema.ConvertDecimal, dec16), unhex("ffffffff ffffffffffffffff fffffffffffffffe 00000000 0102030405060708 090a0b0c0d0e0f10"),
			"fe" + strings.Repeat("ff", 15) + " 100f0e0d0c0b0a090807060504030201",
		},
		{"decimal that does not fit", fixedNode(format.FixedLenByteArray, 9, schema.ConvertDecimal, dec8), unhex("000000000000000001 008000000000000000"), "!a decimal"},
		{"decimal of bytes", fixedNode(format.ByteArray, 0, schema.ConvertDecimal, dec32), plainText("\xfe", "\x01\x00"), "fe" + strings.Repeat("ff", 31) + " 0001" + strings.Repeat("00", 30)},
		{"decimal of no bytes", fixedNode(format.ByteArray, 0, schema.ConvertDecimal, dec8), plainText("", "\x01"), "0000000000000000 0100000000000000"},
		{
			"decimal beyond any width", fixedNode(format.FixedLenByteArray, 40, schema.ConvertDecimal, column.Field{Kind: column.Binary, Type: column.TypeDecimal}), bytes.Repeat([]byte("0123456789"), 8),
			`"` + strings.Repeat("0123456789", 4) + `" "` + strings.Repeat("0123456789", 4) + `"`,
		},
		{"int96", fixedNode(format.Int96, 0, schema.ConvertNone, fixed(column.TypeInt96, 12)), bytes.Repeat([]byte{1, 2, 3, 4, 5, 6}, 4), "010203040506010203040506 010203040506010203040506"},
	} {
		t.Run(c.name, func(t *testing.T) {
			plainPage := new(craft).v1(2, format.Plain, format.RLE, c.body)
			coded := new(craft).dict(2, c.body).v1(2, format.RLEDictionary, format.RLE, codes8(1, packed1(0b10)...))
			snappy := (&craft{codec: format.Snappy}).v1(2, format.Plain, format.RLE, c.body)
			for form, k := range map[string]*craft{"plain": plainPage, "coded": coded, "snappy": snappy} {
				got, err := decodeCrafted(c.n, 2, Layout{}, refuseUTF8, k.chunk(c.n.Leaf, 2))
				if fail, is := strings.CutPrefix(c.want, "!"); is {
					if err == nil || !strings.Contains(err.Error(), fail) {
						t.Errorf("%s: got %s, %v, want the error %q", form, got, err, fail)
					}
				} else if err != nil || got != c.want {
					t.Errorf("%s: got %s, %v, want %s", form, got, err, c.want)
				}
			}
		})
	}
}

func TestUTF8(t *testing.T) {
	text := craftLeaf(format.ByteArray, 0, 0, textField)
	raw := craftLeaf(format.ByteArray, 0, 0, column.Field{Kind: column.Binary, Type: column.TypeBinary})
	values := plainText("가\xffb\xc3", "ok")
	lengths := append(deltaBytesOf(6, 2), "가\xffb\xc3ok"...)
	for name, c := range map[string]*craft{
		"plain":   new(craft).v1(2, format.Plain, format.RLE, values),
		"dict":    new(craft).dict(2, values).v1(2, format.RLEDictionary, format.RLE, codes8(1, packed1(0b10)...)),
		"mixed":   new(craft).dict(2, values).v1(1, format.RLEDictionary, format.RLE, codes8(1, packed1(0)...)).v1(1, format.Plain, format.RLE, plainText("ok")),
		"lengths": new(craft).v1(2, format.DeltaLengthByteArray, format.RLE, lengths),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := decodeCrafted(text, 2, Layout{}, refuseUTF8, c.chunk(text.Leaf, 2)); err == nil || !strings.Contains(err.Error(), "set InvalidUTF8 to replace") {
				t.Errorf("refused with %v", err)
			}
			if got, err := decodeCrafted(text, 2, Layout{}, replaceUTF8, c.chunk(text.Leaf, 2)); err != nil || got != `"가�b�" "ok"` {
				t.Errorf("replaced: %s, %v", got, err)
			}
			if got, err := decodeCrafted(raw, 2, Layout{}, refuseUTF8, withLeaf(c.chunk(raw.Leaf, 2), raw.Leaf)); err != nil || got != `"가\xffb\xc3" "ok"` {
				t.Errorf("as bytes: %s, %v", got, err)
			}
		})
	}
}

func withLeaf(c rawChunk, l *schema.Leaf) rawChunk {
	c.leaf = l
	return c
}

// deltaBytesOf is two values in the DELTA_BINARY_PACKED encoding.
func deltaBytesOf(a, b int64) []byte {
	out := binary.AppendUvarint(nil, 128)
	out = append(out, 4)
	out = binary.AppendUvarint(out, 2)
	out = binary.AppendVarint(out, a)
	out = binary.AppendVarint(out, b-a)
	return append(out, 0, 0, 0, 0)
}

func TestValidUTF8(t *testing.T) {
	for _, s := range []string{
		"", "a", "plain text that is longer than a word", "가나다라마바사아자차카타파하 mixed 가", "é", "日本語テキスト", "🙂🙂🙂🙂 four bytes", "\ufffd",
		"\xff", "a\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xe0\xa0\x80", "\xed\xa0\x80", "\xed\x9f\xbf", "\xf0\x80\x80\x80", "\xf0\x90\x80\x80",
		"\xf4\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "가\xea", "가\xea\xb0", "가나다라\xea\xb0x", "\xf0\x9f\x99", "aaaaaaaa\xc3", "\xef\xbf\xbf", "\x80\x80\x80", "가\x80", "🙂\x80",
	} {
		for pad := range 40 {
			for _, after := range []string{"", "x", "가나", strings.Repeat("y", 40), strings.Repeat("나", 12)} {
				b := []byte(strings.Repeat("x", pad) + s + after)
				if got, want := parquet.ValidUTF8(b), utf8.Valid(b); got != want {
					t.Errorf("%q: %v", b, got)
				}
			}
		}
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 20_000 { // valid text with one byte changed, or none
		b := []byte(strings.Repeat("글자 🙂 é x", 1+r.IntN(8)))
		b = b[r.IntN(3)*2 : len(b)-r.IntN(5)]
		if r.IntN(3) > 0 {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		if got, want := parquet.ValidUTF8(b), utf8.Valid(b); got != want {
			t.Fatalf("%q: %v", b, got)
		}
	}
}

// Values that only together are UTF-8 are refused.
func TestUTF8AcrossValues(t *testing.T) {
	text := craftLeaf(format.ByteArray, 0, 0, textField)
	for name, c := range map[string]*craft{
		"lengths":  new(craft).v1(2, format.DeltaLengthByteArray, format.RLE, append(deltaBytesOf(4, 2), "가\xeb\x82\x98"...)),
		"prefixes": new(craft).v1(2, format.DeltaByteArray, format.RLE, append(append(deltaBytesOf(0, 0), deltaBytesOf(4, 2)...), "가\xeb\x82\x98"...)),
		"plain":    new(craft).v1(2, format.Plain, format.RLE, plainText("가\xeb", "\x82\x98")),
		"long":     new(craft).v1(2, format.Plain, format.RLE, plainText(strings.Repeat("가", 50)+"\xeb", "\x82\x98")),
		"longer":   new(craft).v1(2, format.Plain, format.RLE, plainText("가\xeb", "\x82\x98"+strings.Repeat("가", 50))),
		"coded":    new(craft).dict(2, plainText("가\xeb", "\x82\x98"+strings.Repeat("가", 50))).v1(2, format.RLEDictionary, format.RLE, codes8(1, packed1(0b10)...)),
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := decodeCrafted(text, 2, Layout{}, refuseUTF8, c.chunk(text.Leaf, 2)); err == nil || !strings.Contains(err.Error(), "not UTF-8") {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
	c := new(craft).v1(3, format.Plain, format.RLE, plainText(strings.Repeat("가", 50), "나", ""))
	if got, err := decodeCrafted(text, 3, Layout{}, refuseUTF8, c.chunk(text.Leaf, 3)); err != nil || got != `"`+strings.Repeat("가", 50)+`" "나" ""` {
		t.Errorf("got %s, %v", got, err)
	}
}

// Lengths stand between values, and their bytes may be like those of letters or not.
func TestTextOfAnyLength(t *testing.T) {
	text := craftLeaf(format.ByteArray, 0, 0, textField)
	for _, n := range []int{0, 1, 127, 128, 130, 255, 256, 0x7f7f, 0x8080, 0x10000, 0x80c3} {
		first, second := strings.Repeat("가", n/3)+"abc"[:n%3], strings.Repeat("x", n)
		body := plainText(first, second)
		for name, c := range map[string]*craft{
			"plain":  new(craft).v1(2, format.Plain, format.RLE, body),
			"snappy": (&craft{codec: format.Snappy}).v1(2, format.Plain, format.RLE, body),
			"dict":   new(craft).dict(2, body).v1(2, format.RLEDictionary, format.RLE, codes8(1, packed1(0b10)...)),
		} {
			chunk := c.chunk(text.Leaf, 2)
			before := bytes.Clone(c.pages)
			for range 2 {
				if got, err := decodeCrafted(text, 2, Layout{}, refuseUTF8, chunk); err != nil || got != fmt.Sprintf("%q %q", first, second) {
					t.Errorf("%d bytes, %s: got %.60s, %v", n, name, got, err)
				}
			}
			if !bytes.Equal(c.pages, before) {
				t.Errorf("%d bytes, %s: the pages were written to", n, name)
			}
		}
	}
}

func TestChecksum(t *testing.T) {
	n := craftLeaf(format.Int32, 0, 0, i32Field)
	c := (&craft{crc: true}).dict(1, le32(7)).v1(1, format.RLEDictionary, format.RLE, codes8(1, repeated(1, 0)...)).v2(1, 1, format.Plain, nil, nil, le32(9))
	if got, err := decodeCrafted(n, 2, Layout{}, refuseUTF8, c.chunk(n.Leaf, 2)); err != nil || got != "07000000 09000000" {
		t.Fatalf("got %s, %v", got, err)
	}
	for _, part := range [][]byte{le32(7), codes8(1, repeated(1, 0)...), le32(9)} {
		k := *c
		k.pages = bytes.Clone(c.pages)
		at := bytes.LastIndex(k.pages, part)
		k.pages[at] ^= 1
		if _, err := decodeCrafted(n, 2, Layout{}, refuseUTF8, k.chunk(n.Leaf, 2)); err == nil || !strings.Contains(err.Error(), "checksum") {
			t.Errorf("damage at byte %d: %v", at, err)
		}
	}
}

// A Layout of parts spreads values of all sizes, and rows that go over pages.
func TestSpreadOverParts(t *testing.T) {
	text := craftLeaf(format.ByteArray, 1, 0, column.Field{Kind: column.Binary, Type: column.TypeBinary})
	list := craftList(craftLeaf(format.Int32, 2, 1, i32Field))
	big, small := strings.Repeat("b", 1<<19), strings.Repeat("s", 100_000)
	texts := new(craft).v1(4, format.Plain, format.RLE, sized32(packed1(0b1011)...), plainText("one", big, small)).
		v1(3, format.Plain, format.RLE, sized32(repeated(3, 1)...), plainText(small, "", "two"))
	lists := new(craft).v1(4, format.Plain, format.RLE, sized32(packed1(0b1010)...), sized32(repeated(4, 2)...), le32(1, 2, 3, 4)).
		v1(3, format.Plain, format.RLE, sized32(packed1(0b001)...), sized32(packed2(2, 2, 1)...), le32(5, 6))
	for _, c := range []struct {
		n    *schema.Node
		c    *craft
		l    *schema.Leaf
		rows int
	}{{text, texts, text.Leaf, 7}, {list, lists, list.Children[0].Leaf, 4}} {
		want, err := decodeCrafted(c.n, c.rows, Layout{}, refuseUTF8, c.c.chunk(c.l, c.rows))
		if err != nil {
			t.Fatal(err)
		}
		l := Layout{Part: []uint8{1, 2, 1, 3, 2, 2, 1}[:c.rows], Parts: 3, wide: 1}
		got, err := decodeCrafted(c.n, c.rows, l, refuseUTF8, c.c.chunk(c.l, c.rows))
		if err != nil || got != want {
			t.Errorf("got %.300s, %v, want %.300s", got, err, want)
		}
	}
	nulls := craftList(craftLeaf(format.Int32, 3, 1, i32Field))
	c := new(craft).v1(2, format.Plain, format.RLE, sized32(packed1(0)...), sized32(packed2(3, 2)...), le32(1))
	got, err := decodeCrafted(nulls, 2, Layout{Part: []uint8{1, 2}, Parts: 2, wide: 1}, refuseUTF8, c.chunk(nulls.Children[0].Leaf, 2))
	if err != nil || got != "[01000000] [null]" {
		t.Errorf("null items: %s, %v", got, err)
	}
}

// Release frees the memory of the rows of one part alone.
func TestReleaseOfParts(t *testing.T) {
	n := craftLeaf(format.ByteArray, 0, 0, column.Field{Kind: column.Binary, Type: column.TypeBinary})
	value := strings.Repeat("v", 300_000)
	c := new(craft).v1(2, format.Plain, format.RLE, plainText(value, value))
	pool := &mem.Pool{}
	d := newDecoder(pool, false)
	blocks, err := d.Decode(&Raw{Rows: Rows{Hi: 2}, columns: []*schema.Node{n}, chunks: []rawChunk{c.chunk(n.Leaf, 2)}}, Layout{Part: []uint8{1, 2}, Parts: 2})
	if err != nil {
		t.Fatal(err)
	}
	all := pool.Stats().InUse
	blocks[0].Release()
	if left := pool.Stats().InUse; all-left < 300_000 || left < 300_000 {
		t.Errorf("%d bytes, %d after one of two parts", all, left)
	}
	if got := string(binaryValue(block.Columns(blocks[1])[0], 0)); got != value {
		t.Error("the value of the other part is gone")
	}
	blocks[1].Release()
	d.Close()
	if n := pool.Stats().InUse; n != 0 {
		t.Errorf("%d bytes in use", n)
	}
}

// Columns that need no pages.
func TestConstantColumns(t *testing.T) {
	date := &schema.Node{Field: &column.Field{Name: "dt", Kind: column.Binary, Type: column.TypeString}, Partition: &schema.PartitionValue{Data: []byte("2026")}}
	number := &schema.Node{Field: &column.Field{Name: "n", Kind: column.Fixed, Type: column.TypeInt64, Width: 8}, Partition: &schema.PartitionValue{Data: le64(5)}}
	null := &schema.Node{Field: &column.Field{Name: "x", Kind: column.Binary, Type: column.TypeString}, Partition: &schema.PartitionValue{Null: true}}
	gone := &schema.Node{Field: &column.Field{Name: "gone", Kind: column.Struct, Children: []*column.Field{{Kind: column.List, Children: []*column.Field{{Kind: column.Fixed, Width: 4}}}}}, Missing: true}
	unknown := craftLeaf(format.Int32, 1, 0, column.Field{Kind: column.Null, Type: column.TypeUnknown})
	for _, c := range []struct {
		n      *schema.Node
		want   string
		chunks []rawChunk
	}{
		{date, `"2026" "2026" "2026"`, nil},
		{number, "0500000000000000 0500000000000000 0500000000000000", nil},
		{null, "null null null", nil},
		{gone, "null null null", nil},
		{unknown, "null null null", []rawChunk{new(craft).chunk(unknown.Leaf, 3)}},
	} {
		if got, err := decodeCrafted(c.n, 3, Layout{}, refuseUTF8, c.chunks...); err != nil || got != c.want {
			t.Errorf("%s: got %s, %v", c.n.Field.Name, got, err)
		}
	}
}

// Leaves of one struct must agree about which are null, and members that the file lacks are null.
func TestNestedByHand(t *testing.T) {
	a, b := craftLeaf(format.Int32, 1, 0, i32Field), craftLeaf(format.Int32, 2, 0, i32Field)
	lacking := &schema.Node{Field: &column.Field{Name: "l", Kind: column.Fixed, Width: 4, Nullable: true}, Missing: true}
	pair := &schema.Node{Field: &column.Field{Name: "pair", Kind: column.Struct}, Def: 1, Children: []*schema.Node{a, lacking, b}}
	good := new(craft).v1(3, format.Plain, format.RLE, sized32(packed1(0b101)...), le32(1, 2)).chunk(a.Leaf, 3)
	other := new(craft).v1(3, format.Plain, format.RLE, sized32(packed2(1, 0, 2)...), le32(9)).chunk(b.Leaf, 3)
	if got, err := decodeCrafted(pair, 3, Layout{}, refuseUTF8, good, other); err != nil || got != "{01000000 null null} null {02000000 null 09000000}" {
		t.Errorf("got %s, %v", got, err)
	}
	bad := new(craft).v1(3, format.Plain, format.RLE, sized32(packed2(1, 2, 0)...), le32(9)).chunk(b.Leaf, 3)
	if got, err := decodeCrafted(pair, 3, Layout{}, refuseUTF8, good, bad); err == nil || !strings.Contains(err.Error(), "do not agree") {
		t.Errorf("got %s, %v", got, err)
	}
	b.Leaf.Convert = schema.ConvertNull
	defer func() { b.Leaf.Convert = schema.ConvertNone }()
	if got, err := decodeCrafted(pair, 3, Layout{}, refuseUTF8, good, other); err != nil || got != "{01000000 null null} null {02000000 null null}" {
		t.Errorf("a member that is null throughout: %s, %v", got, err)
	}
}

func TestDeclaredListSize(t *testing.T) {
	list := craftList(craftLeaf(format.Int32, 2, 1, i32Field))
	list.Field.ListSize = 2
	l := list.Children[0].Leaf
	c := new(craft).v1(5, format.Plain, format.RLE, sized32(packed1(0b10010)...), sized32(packed2(2, 2, 0, 2, 2)...), le32(1, 2, 3, 4))
	if got, err := decodeCrafted(list, 3, Layout{}, refuseUTF8, c.chunk(l, 3)); err != nil || got != "[01000000 02000000] null [03000000 04000000]" {
		t.Errorf("got %s, %v", got, err)
	}
	c = new(craft).v1(3, format.Plain, format.RLE, sized32(packed1(0b010)...), sized32(repeated(3, 2)...), le32(1, 2, 3))
	for _, layout := range []Layout{{}, {Part: []uint8{1, 2}, Parts: 2, wide: 1}} {
		if _, err := decodeCrafted(list, 2, layout, refuseUTF8, c.chunk(l, 2)); err == nil || !strings.Contains(err.Error(), "row 1 of the unit has a list of 1") {
			t.Errorf("a list of 1: %v", err)
		}
	}
}
