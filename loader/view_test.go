package loader

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

func TestValues(t *testing.T) {
	prices := build(t, fixed("price", column.TypeFloat64, 8), `[1.5,null,-2]`)
	v, err := column.Values[float64](prices)
	if err != nil || !reflect.DeepEqual(v, []float64{1.5, 0, -2}) {
		t.Fatalf("got %v, %v", v, err)
	}
	v[0] = 3
	if got := show(prices); got != `[3,null,-2]` {
		t.Errorf("the values are a copy: %s", got)
	}
	if got := fmt.Sprint(prices.IsNull(0), prices.IsNull(1)); got != "false true" {
		t.Errorf("nulls: %s", got)
	}
	tensor := build(t, listed("box", 2, int32s("item")), `[[1,2],null,[3,4]]`)
	boxes, err := column.Values[int32](tensor)
	if err != nil || !reflect.DeepEqual(boxes, []int32{1, 2, 0, 0, 3, 4}) {
		t.Errorf("got %v, %v", boxes, err)
	}
}

// typesOf lists the Go types that a column of f can be seen as.
func typesOf(f *column.Field) (fit []string) {
	a := &column.Array{Field: f, Len: 2, Data: make([]byte, 64)}
	add := func(name string, n int, err error) {
		if err == nil && n == 2 {
			fit = append(fit, name)
		}
	}
	b, err := column.Values[bool](a)
	add("bool", len(b), err)
	i8, err := column.Values[int8](a)
	add("int8", len(i8), err)
	i16, err := column.Values[int16](a)
	add("int16", len(i16), err)
	i32, err := column.Values[int32](a)
	add("int32", len(i32), err)
	i64, err := column.Values[int64](a)
	add("int64", len(i64), err)
	u8, err := column.Values[uint8](a)
	add("uint8", len(u8), err)
	u16, err := column.Values[uint16](a)
	add("uint16", len(u16), err)
	u32, err := column.Values[uint32](a)
	add("uint32", len(u32), err)
	u64, err := column.Values[uint64](a)
	add("uint64", len(u64), err)
	f32, err := column.Values[float32](a)
	add("float32", len(f32), err)
	f64, err := column.Values[float64](a)
	add("float64", len(f64), err)
	b12, err := column.Values[[12]byte](a)
	add("12", len(b12), err)
	b16, err := column.Values[[16]byte](a)
	add("16", len(b16), err)
	b32, err := column.Values[[32]byte](a)
	add("32", len(b32), err)
	return fit
}

func TestValuesOfTypes(t *testing.T) {
	for _, c := range []struct {
		t     column.Type
		width int
		want  string
	}{
		{column.TypeBool, 1, "[bool]"},
		{column.TypeInt8, 1, "[int8]"},
		{column.TypeInt16, 2, "[int16]"},
		{column.TypeInt32, 4, "[int32]"},
		{column.TypeInt64, 8, "[int64]"},
		{column.TypeUint8, 1, "[uint8]"},
		{column.TypeUint16, 2, "[uint16]"},
		{column.TypeUint32, 4, "[uint32]"},
		{column.TypeUint64, 8, "[uint64]"},
		{column.TypeFloat16, 2, "[uint16]"},
		{column.TypeFloat32, 4, "[float32]"},
		{column.TypeFloat64, 8, "[float64]"},
		{column.TypeDate, 4, "[int32]"},
		{column.TypeTime, 8, "[int64]"},
		{column.TypeTimestamp, 8, "[int64]"},
		{column.TypeDecimal, 8, "[int64]"},
		{column.TypeDecimal, 16, "[16]"},
		{column.TypeDecimal, 32, "[32]"},
		{column.TypeInt96, 12, "[12]"},
		{column.TypeInterval, 12, "[12]"},
		{column.TypeUUID, 16, "[16]"},
		{column.TypeFixedBinary, 16, "[16]"},
		{column.TypeFixedBinary, 5, "[]"},
	} {
		t.Run(fmt.Sprintf("%+v", c.t), func(t *testing.T) {
			if got := fmt.Sprint(typesOf(fixed("x", c.t, c.width))); got != c.want {
				t.Errorf("%v of %d bytes: got %s, want %s", c.t, c.width, got, c.want)
			}
		})
	}
	_, err := column.Values[int64](build(t, listed("names", 0, texts("item")), `[["a"]]`))
	if err == nil || err.Error() != `column "names" is list<string>, which is not int64` {
		t.Errorf("got %v", err)
	}
}

func TestShape(t *testing.T) {
	for _, c := range []struct {
		f    *column.Field
		rows string
		want string
	}{
		{int32s("x"), `[1,2]`, "[2]"},
		{texts("x"), `["a"]`, "[1]"},
		{listed("x", 0, int32s("item")), `[[1],[]]`, "[2 -1]"},
		{listed("x", 2, int32s("item")), `[[1,2]]`, "[1 2]"},
		{listed("x", 0, listed("item", 2, int32s("item"))), `[[[1,2]],[],[]]`, "[3 -1 2]"},
	} {
		if got := fmt.Sprint(column.Shape(build(t, c.f, c.rows))); got != c.want {
			t.Errorf("%v: got %s, want %s", c.f, got, c.want)
		}
	}
}

func TestLists(t *testing.T) {
	for _, c := range []struct {
		f    *column.Field
		rows string
		want string
	}{
		{listed("x", 0, int32s("item")), `[[1,2],null,[],[3]]`, "[1 2][][][3]"},
		{listed("x", 2, int32s("item")), `[[1,2],null,[3,4]]`, "[1 2][0 0][3 4]"},
		{listed("x", 2, listed("item", 2, int32s("item"))), `[[[1,2],[3,4]],[[5,6],[7,8]]]`, "[1 2 3 4][5 6 7 8]"},
	} {
		v, err := column.Lists[int32](build(t, c.f, c.rows))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for i := range v.Len() {
			got += fmt.Sprint(v.At(i))
		}
		if got != c.want {
			t.Errorf("%v: got %s, want %s", c.f, got, c.want)
		}
	}
	for _, c := range []struct{ f *column.Field }{
		{int32s("x")},
		{texts("x")},
		{listed("x", 0, texts("item"))},
		{listed("x", 0, listed("item", 2, int32s("item")))},
		{listed("x", 0, fixed("item", column.TypeFloat32, 4))},
	} {
		if _, err := column.Lists[int32](build(t, c.f, `[]`)); err == nil {
			t.Errorf("%v was taken for lists of int32", c.f)
		}
	}
}

func TestBytes(t *testing.T) {
	names := build(t, texts("name"), `["pear",null,"","배"]`)
	v, err := column.Bytes(names)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%d %q %q %q %q", v.Len(), v.At(0), v.At(1), v.At(2), v.At(3)); got != `4 "pear" "" "" "배"` {
		t.Errorf("got %s", got)
	}
	s, err := column.Strings(names)
	if err != nil || !reflect.DeepEqual(s, []string{"pear", "", "", "배"}) {
		t.Errorf("got %q, %v", s, err)
	}
	copy(names.Data, "xxxx")
	if s[0] != "pear" {
		t.Error("the strings share the batch's memory")
	}
	codes := &column.Array{Field: fixed("code", column.TypeFixedBinary, 3), Len: 2, Data: []byte("abcdef")}
	if v, err = column.Bytes(codes); err != nil || string(v.At(1)) != "def" {
		t.Errorf("got %q, %v", v.At(1), err)
	}
	if _, err := column.Bytes(build(t, listed("x", 0, int32s("item")), `[]`)); err == nil {
		t.Error("a list was taken for a byte string")
	}
	if _, err := column.Strings(codes); err == nil {
		t.Error("a fixed-width column was taken for strings")
	}
}

func TestViewsAfterRelease(t *testing.T) {
	b := batchOf(build(t, int32s("n"), `[1]`), build(t, texts("s"), `["a"]`), build(t, listed("l", 0, int32s("item")), `[[1]]`),
		build(t, fixed("f", column.TypeFixedBinary, 3), `[null]`))
	columns := append([]*column.Array(nil), b.Columns...)
	b.Release()
	_, e1 := column.Values[int32](columns[0])
	_, e2 := column.Strings(columns[1])
	_, e3 := column.Lists[int32](columns[2])
	_, e4 := column.Bytes(columns[3])
	for i, err := range []error{e1, e2, e3, e4} {
		if !errors.Is(err, column.ErrReleased) {
			t.Errorf("view %d: got %v", i, err)
		}
	}
}
