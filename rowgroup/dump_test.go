package rowgroup

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
)

// heap is an Alloc for tests: dirty memory, so that an unwritten byte shows.
func heap(n int) ([]byte, error) { return bytes.Repeat([]byte{0xaa}, n), nil }

// dump writes value i of a vector in a form that can be compared.
func dump(v *block.Vector, i int) string {
	if v.Nulls > 0 && v.IsNull(i) || v.Field.Kind == column.Null {
		return "null"
	}
	switch v.Field.Kind {
	case column.Fixed:
		return hex.EncodeToString(fixedValue(v, i))
	case column.Binary:
		return fmt.Sprintf("%q", binaryValue(v, i))
	case column.Struct:
		var parts []string
		for _, c := range v.Children {
			parts = append(parts, dump(c, i))
		}
		return "{" + strings.Join(parts, " ") + "}"
	}
	return "[" + strings.Join(dumpItems(v, i), " ") + "]"
}

func dumpItems(v *block.Vector, i int) (parts []string) {
	c := v.Children[0]
	if v.Views != nil || v.Data != nil {
		b := flatItems(v, i)
		for w := c.Field.Width; len(b) > 0; b = b[w:] {
			parts = append(parts, hex.EncodeToString(b[:w]))
		}
		return parts
	}
	lo, hi := v.ListRange(i)
	for k := lo; k < hi; k++ {
		parts = append(parts, dump(c, int(k)))
	}
	return parts
}

// fixedValue returns value i of a Fixed vector.
func fixedValue(v *block.Vector, i int) []byte {
	if v.Dict != nil {
		return fixedValue(v.Dict, v.Code(i))
	}
	if w := v.Field.Width; v.Slots == nil {
		return v.Data[i*w : (i+1)*w]
	}
	return v.Slots[i*v.Step:][:v.Field.Width]
}

// bytes returns value i of a Binary vector.
func binaryValue(v *block.Vector, i int) []byte {
	if v.Codes != nil {
		return binaryValue(v.Dict, v.Code(i))
	}
	return viewedValue(v, i)
}

func viewedValue(v *block.Vector, i int) []byte {
	begin, n := v.Views[i]>>32, int(uint32(v.Views[i]))
	if n == 0 {
		return nil
	}
	if v.ChunkShift == 0 {
		return v.Base[0][begin:][:n]
	}
	return v.Base[begin>>v.ChunkShift][begin&(1<<v.ChunkShift-1):][:n]
}

func flatItems(v *block.Vector, i int) []byte {
	if v.Views != nil {
		return viewedValue(v, i)
	}
	w := v.Stride * v.Children[0].Field.Width
	return v.Data[i*w : (i+1)*w]
}

// dumpGo writes a Go value as dump writes the vector of field f that it was written to.
func dumpGo(v reflect.Value, f *column.Field) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "null"
		}
		v = v.Elem()
	}
	if f.Nullable && (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.IsNil() {
		return "null"
	}
	switch f.Kind {
	case column.Fixed:
		if v.Kind() == reflect.Array {
			b := make([]byte, v.Len())
			reflect.Copy(reflect.ValueOf(b), v)
			return hex.EncodeToString(b)
		}
		var b bytes.Buffer
		if err := binary.Write(&b, binary.LittleEndian, v.Interface()); err != nil {
			panic(err)
		}
		return hex.EncodeToString(b.Bytes())
	case column.Binary:
		return fmt.Sprintf("%q", v.Convert(reflect.TypeFor[[]byte]()).Bytes())
	case column.Struct:
		var parts []string
		for _, c := range f.Children {
			parts = append(parts, dumpGo(memberOf(v, c.Name), c))
		}
		return "{" + strings.Join(parts, " ") + "}"
	case column.Map:
		return dumpMap(v, f.Children[0])
	}
	var parts []string
	for i := range v.Len() {
		parts = append(parts, dumpGo(v.Index(i), f.Children[0]))
	}
	return "[" + strings.Join(parts, " ") + "]"
}

func dumpMap(v reflect.Value, pair *column.Field) string {
	var parts []string
	for it := v.MapRange(); it.Next(); {
		parts = append(parts, "{"+dumpGo(it.Key(), pair.Children[0])+" "+dumpGo(it.Value(), pair.Children[1])+"}")
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// memberOf is the member of a struct with that name in its tag.
func memberOf(v reflect.Value, name string) reflect.Value {
	for i := range v.NumField() {
		tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("parquet"), ",")
		if tag == name {
			return v.Field(i)
		}
	}
	panic("no member " + name)
}

// writeRows writes a file with parquet-go, a row group for each part of rows.
func writeRows[T any](t testing.TB, parts [][]T, o ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, o...)
	for _, rows := range parts {
		for len(rows) > 0 { // small portions make small pages
			n := min(len(rows), 37)
			if _, err := w.Write(rows[:n]); err != nil {
				t.Fatal(err)
			}
			rows = rows[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// openDecoder opens one file for decoding.
func openDecoder(t testing.TB, file []byte, o Options) (*Reader, *Decoder) {
	t.Helper()
	m := openBytes(t, o, map[string][]byte{"a.parquet": file})
	pool := &mem.Pool{}
	d := newDecoder(pool, false)
	t.Cleanup(func() {
		d.Close()
		if n := pool.Stats().InUse; n != 0 {
			t.Errorf("%d bytes of the pool are still in use", n)
		}
	})
	return m, d
}

// whole decodes a unit into one block.
func (d *Decoder) whole(r *Raw, l Layout) (*Block, error) {
	blocks, err := d.Decode(r, l)
	if err != nil {
		return nil, err
	}
	return blocks[0], nil
}

// decodeUnit decodes a unit and hands the block to check.
func decodeUnit(t testing.TB, m *Reader, d *Decoder, u Rows, check func(*Block)) {
	t.Helper()
	r := fetch(t, m, u)
	b, err := d.whole(r, Layout{})
	if err != nil {
		t.Fatal(err)
	}
	r.Release()
	check(b)
	b.Release()
}

// checkBlock compares the rows of a block with the written rows.
func checkBlock[T any](t testing.TB, b *Block, want []T) {
	t.Helper()
	if b.Rows() != len(want) {
		t.Fatalf("%d rows, want %d", b.Rows(), len(want))
	}
	for _, v := range block.Columns(b) {
		if v.Order == nil && v.Len != v.Skip+len(want) {
			t.Fatalf("column %s: %d values behind %d, want %d", v.Field.Name, v.Len, v.Skip, len(want))
		}
		for i := range want {
			got, want := dump(v, v.Place(i)), dumpGo(memberOf(reflect.ValueOf(want[i]), v.Field.Name), v.Field)
			if got != want {
				t.Fatalf("column %s, row %d: got %.200s, want %.200s", v.Field.Name, i, got, want)
			}
		}
	}
}
