package loader

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

// heapMemory is a batch's memory full of garbage, so that a byte that should have been written
// shows.
type heapMemory struct {
	frees int
	limit int // bytes; 0 means none
	used  int
}

func (m *heapMemory) Alloc(n int) ([]byte, error) {
	m.used += n
	if m.limit > 0 && m.used > m.limit {
		return nil, fmt.Errorf("%d bytes are more than the slot's %d", m.used, m.limit)
	}
	return bytes.Repeat([]byte{0xaa}, n+8)[:n:n], nil
}

func (m *heapMemory) Free() { m.frees++ }

// fixed is a field of fixed-width values.
func fixed(name string, t column.Type, width int) *column.Field {
	return &column.Field{Name: name, Kind: column.Fixed, Type: t, Width: width, Nullable: true}
}

func int32s(name string) *column.Field { return fixed(name, column.TypeInt32, 4) }

// listed is a field of lists; size 0 means ragged.
func listed(name string, size int, items *column.Field) *column.Field {
	return &column.Field{Name: name, Kind: column.List, ListSize: size, Nullable: true, Children: []*column.Field{items}}
}

func texts(name string) *column.Field {
	return &column.Field{Name: name, Kind: column.Binary, Type: column.TypeString, Nullable: true}
}

// build makes an array of values in JSON: numbers and booleans, strings, lists, objects for
// structs, and null anywhere.
func build(t testing.TB, f *column.Field, rows string) *column.Array {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader([]byte(rows)))
	d.UseNumber()
	var values []any
	if err := d.Decode(&values); err != nil {
		t.Fatalf("%s: %v", rows, err)
	}
	return buildNode(t, f, values)
}

func buildNode(t testing.TB, f *column.Field, values []any) *column.Array {
	t.Helper()
	a := &column.Array{Field: f, Len: len(values)}
	valid := make([]byte, (len(values)+7)/8)
	for i, v := range values {
		if v == nil {
			a.Nulls++
		} else {
			valid[i/8] |= 1 << (i % 8)
		}
	}
	if a.Nulls > 0 {
		a.Valid = valid
	}
	switch f.Kind {
	case column.Fixed:
		for _, v := range values {
			a.Data = append(a.Data, fixedBytes(t, f, v)...)
		}
	case column.Binary:
		a.Offsets = []int32{0}
		for _, v := range values {
			s, _ := v.(string)
			a.Data = append(a.Data, s...)
			a.Offsets = append(a.Offsets, int32(len(a.Data)))
		}
	case column.List:
		var items []any
		if f.ListSize == 0 {
			a.Offsets = []int32{0}
		}
		for _, v := range values {
			l, _ := v.([]any)
			items = append(items, l...)
			if f.ListSize == 0 {
				a.Offsets = append(a.Offsets, int32(len(items)))
			} else if len(l) < f.ListSize {
				items = append(items, make([]any, f.ListSize-len(l))...)
			}
		}
		a.Children = []*column.Array{buildNode(t, f.Children[0], items)}
	case column.Struct:
		for _, c := range f.Children {
			members := make([]any, len(values))
			for i, v := range values {
				if m, ok := v.(map[string]any); ok {
					members[i] = m[c.Name]
				}
			}
			a.Children = append(a.Children, buildNode(t, c, members))
		}
	}
	return a
}

func fixedBytes(t testing.TB, f *column.Field, v any) []byte {
	t.Helper()
	b := make([]byte, 8)
	switch v := v.(type) {
	case nil:
	case bool:
		if v {
			b[0] = 1
		}
	case json.Number:
		x, err := v.Float64()
		if err != nil {
			t.Fatal(err)
		}
		switch f.Type {
		case column.TypeFloat32:
			binary.LittleEndian.PutUint32(b, math.Float32bits(float32(x)))
		case column.TypeFloat64:
			binary.LittleEndian.PutUint64(b, math.Float64bits(x))
		default:
			binary.LittleEndian.PutUint64(b, uint64(int64(x)))
		}
	default:
		t.Fatalf("no fixed-width value: %v", v)
	}
	return b[:f.Width]
}

// show is the reverse of build.
func show(a *column.Array) string {
	s := "["
	for i := range a.Len {
		if i > 0 {
			s += ","
		}
		s += showAt(a, i)
	}
	return s + "]"
}

func showAt(a *column.Array, i int) string {
	if a.IsNull(i) {
		return "null"
	}
	f := a.Field
	switch f.Kind {
	case column.Fixed:
		b := append([]byte(nil), a.Data[i*f.Width:(i+1)*f.Width]...)
		b = append(b, make([]byte, 8)...)
		switch f.Type {
		case column.TypeBool:
			return fmt.Sprint(b[0] != 0)
		case column.TypeFloat32:
			return fmt.Sprint(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		case column.TypeFloat64:
			return fmt.Sprint(math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
		shift := 64 - 8*f.Width
		return fmt.Sprint(int64(binary.LittleEndian.Uint64(b)) << shift >> shift)
	case column.Binary:
		return fmt.Sprintf("%q", a.Data[a.Offsets[i]:a.Offsets[i+1]])
	case column.List:
		lo, hi := a.Items(i)
		s := "["
		for k := lo; k < hi; k++ {
			if k > lo {
				s += ","
			}
			s += showAt(a.Children[0], k)
		}
		return s + "]"
	case column.Struct:
		s := "{"
		for k, c := range a.Children {
			if k > 0 {
				s += ","
			}
			s += fmt.Sprintf("%q:%s", c.Field.Name, showAt(c, i))
		}
		return s + "}"
	}
	return "?"
}

// batchOf is a batch of the columns in memory of its own.
func batchOf(columns ...*column.Array) *Batch {
	b := &Batch{Columns: columns, memory: &heapMemory{}}
	if len(columns) > 0 {
		b.Rows = columns[0].Len
	}
	b.Valid = b.Rows
	return b
}

// listsOf is the rows of a column of lists of int32.
func listsOf(t *testing.T, a *column.Array) [][]int32 {
	t.Helper()
	lists, err := column.Lists[int32](a)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([][]int32, lists.Len())
	for i := range rows {
		rows[i] = lists.At(i)
	}
	return rows
}
