package rowgroup

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
)

// dump writes value i of a vector in a form that can be compared.
func dump(v *vector, i int) string {
	if v.nulls > 0 && v.isNull(i) || v.field.Kind == column.Null {
		return "null"
	}
	switch v.field.Kind {
	case column.Fixed:
		w := v.field.Width
		s, _ := v.source(w)
		return hex.EncodeToString(unsafe.Slice((*byte)(s.at(uintptr(i), uintptr(w))), w))
	case column.Binary:
		return fmt.Sprintf("%q", v.bytes(i))
	case column.Struct:
		var parts []string
		for _, c := range v.children {
			parts = append(parts, dump(c, i))
		}
		return "{" + strings.Join(parts, " ") + "}"
	}
	return "[" + strings.Join(v.dumpItems(i), " ") + "]"
}

func (v *vector) dumpItems(i int) (parts []string) {
	c := v.children[0]
	if v.views != nil || v.data != nil {
		b := v.flatItems(i)
		for w := c.field.Width; len(b) > 0; b = b[w:] {
			parts = append(parts, hex.EncodeToString(b[:w]))
		}
		return parts
	}
	lo, hi := v.listRange(i)
	for k := lo; k < hi; k++ {
		parts = append(parts, dump(c, int(k)))
	}
	return parts
}

// bytes returns value i of a Binary vector.
func (v *vector) bytes(i int) []byte {
	if v.codes != nil {
		return v.dict.bytes(v.code(i))
	}
	return v.viewed(i)
}

func (v *vector) viewed(i int) []byte {
	begin, n := v.views[i]>>32, int(uint32(v.views[i]))
	if n == 0 {
		return nil
	}
	if v.chunkShift == 0 {
		return v.base[0][begin:][:n]
	}
	return v.base[begin>>v.chunkShift][begin&(1<<v.chunkShift-1):][:n]
}

func (v *vector) flatItems(i int) []byte {
	if v.views != nil {
		return v.viewed(i)
	}
	w := v.stride * v.children[0].field.Width
	return v.data[i*w : (i+1)*w]
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
func openDecoder(t testing.TB, file []byte, o Options) (*Manifest, *Decoder) {
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
func decodeUnit(t testing.TB, m *Manifest, d *Decoder, u Rows, check func(*Block)) {
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
	for _, v := range b.cols {
		if v.order == nil && v.n != v.skip+len(want) {
			t.Fatalf("column %s: %d values behind %d, want %d", v.field.Name, v.n, v.skip, len(want))
		}
		for i := range want {
			got, want := dump(v, v.place(i)), dumpGo(memberOf(reflect.ValueOf(want[i]), v.field.Name), v.field)
			if got != want {
				t.Fatalf("column %s, row %d: got %.200s, want %.200s", v.field.Name, i, got, want)
			}
		}
	}
}
