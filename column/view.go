package column

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"unsafe"
)

// ErrReleased is a column whose memory was given back: its batch was released.
var ErrReleased = errors.New("the batch was released")

// Value is the Go types of fixed-width values. Dates are int32 and times and timestamps int64, in
// the unit of the column's Field; float16 and bfloat16 are their bits in a uint16; decimals are
// int64, or little-endian [16]byte and [32]byte; UUIDs are [16]byte, INT96 and intervals [12]byte.
type Value interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64 | [12]byte | [16]byte | [32]byte
}

var typeOf = map[reflect.Type]Type{
	reflect.TypeFor[bool](): TypeBool,
	reflect.TypeFor[int8](): TypeInt8, reflect.TypeFor[int16](): TypeInt16,
	reflect.TypeFor[int32](): TypeInt32, reflect.TypeFor[int64](): TypeInt64,
	reflect.TypeFor[uint8](): TypeUint8, reflect.TypeFor[uint16](): TypeUint16,
	reflect.TypeFor[uint32](): TypeUint32, reflect.TypeFor[uint64](): TypeUint64,
	reflect.TypeFor[float32](): TypeFloat32, reflect.TypeFor[float64](): TypeFloat64,
}

// FieldOf is a fixed-width column of T.
func FieldOf[T Value](name string) *Field {
	t := reflect.TypeFor[T]()
	return &Field{Name: name, Kind: Fixed, Type: cmp.Or(typeOf[t], TypeFixedBinary), Width: int(t.Size())}
}

// fits reports whether a column of f can be seen as values of T.
func fits[T Value](f *Field) bool {
	want := FieldOf[T]("")
	if f.Kind != Fixed || f.Width != want.Width {
		return false
	}
	switch f.Type {
	case TypeDate:
		return want.Type == TypeInt32
	case TypeTime, TypeTimestamp:
		return want.Type == TypeInt64
	case TypeDecimal:
		return want.Type == TypeInt64 || want.Type == TypeFixedBinary
	case TypeFloat16, TypeBFloat16:
		return want.Type == TypeUint16
	case TypeInt96, TypeInterval, TypeUUID, TypeFixedBinary:
		return want.Type == TypeFixedBinary
	}
	return f.Type == want.Type
}

// Values returns the values of a fixed-width column without a copy. For a list column, of any
// depth, it returns the items of all rows concatenated; [Shape] returns their dimensions. A null is
// zero, or the value that the loader filled in.
func Values[T Value](a *Array) ([]T, error) {
	leaf := a
	for leaf.Field.Kind == List {
		leaf = leaf.Children[0]
	}
	if !fits[T](leaf.Field) {
		var zero T
		return nil, fmt.Errorf("column %q is %v, which is not %T", a.Field.Name, a.Field, zero)
	}
	if len(leaf.Data) < leaf.Len*leaf.Field.Width {
		return nil, ErrReleased
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(leaf.Data))), leaf.Len), nil
}

// Shape returns the dimensions of a column: its length and the size of each list level, -1 for a
// ragged one.
func Shape(a *Array) []int {
	dims := []int{a.Len}
	for f := a.Field; f.Kind == List; f = f.Children[0] {
		size := f.ListSize
		if size == 0 {
			size = -1
		}
		dims = append(dims, size)
	}
	return dims
}

// A ListView is a column of lists of fixed-width items, row by row.
type ListView[T Value] struct {
	offsets []int32
	rows    int
	size    int // items of a row when offsets is nil
	items   []T
}

// Lists returns the rows of a column of lists without a copy. Fixed-size lists of fixed-size lists
// are taken as one list per row.
func Lists[T Value](a *Array) (ListView[T], error) {
	if a.Field.Kind != List {
		return ListView[T]{}, fmt.Errorf("column %q is %v, which is not a list", a.Field.Name, a.Field)
	}
	size := a.Field.ListSize
	for f := a.Field.Children[0]; f.Kind == List; f = f.Children[0] {
		if size == 0 || f.ListSize == 0 {
			return ListView[T]{}, fmt.Errorf("column %q is %v; take the inner lists by their own array", a.Field.Name, a.Field)
		}
		size *= f.ListSize
	}
	items, err := Values[T](a)
	if err != nil {
		return ListView[T]{}, err
	}
	if size == 0 && len(a.Offsets) != a.Len+1 {
		return ListView[T]{}, ErrReleased
	}
	return ListView[T]{offsets: a.Offsets, rows: a.Len, size: size, items: items}, nil
}

// Len is the number of rows.
func (v ListView[T]) Len() int { return v.rows }

// At is the items of row i; empty when the row is null.
func (v ListView[T]) At(i int) []T {
	if v.offsets != nil {
		return v.items[v.offsets[i]:v.offsets[i+1]]
	}
	return v.items[i*v.size : (i+1)*v.size]
}

// A BytesView is a column of byte strings, row by row.
type BytesView = ListView[byte]

// Bytes returns the values of a string or binary column, of any type and fixed-width ones too,
// without a copy.
func Bytes(a *Array) (BytesView, error) {
	switch a.Field.Kind {
	case Binary:
		if len(a.Offsets) != a.Len+1 {
			return BytesView{}, ErrReleased
		}
	case Fixed:
		if len(a.Data) < a.Len*a.Field.Width {
			return BytesView{}, ErrReleased
		}
	default:
		return BytesView{}, fmt.Errorf("column %q is %v, which is not a byte string", a.Field.Name, a.Field)
	}
	return BytesView{offsets: a.Offsets, rows: a.Len, size: a.Field.Width, items: a.Data}, nil
}

// Strings returns a copy of a string or binary column, which stays valid after the batch is
// released. It takes two allocations, however many rows there are.
func Strings(a *Array) ([]string, error) {
	if a.Field.Kind != Binary {
		return nil, fmt.Errorf("column %q is %v, which is not a string", a.Field.Name, a.Field)
	}
	v, err := Bytes(a)
	if err != nil {
		return nil, err
	}
	all := string(v.items[:v.offsets[v.rows]])
	s := make([]string, v.rows)
	for i := range s {
		s[i] = all[v.offsets[i]:v.offsets[i+1]]
	}
	return s, nil
}
