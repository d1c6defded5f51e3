package iterable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// Cast maps the numbers of a column, or its booleans, to another numeric type. A number that an
// integer type cannot hold, because it is out of its range or has a fraction, is an error; floats
// round to nearest.
func Cast(column string, to column.Type) Transform { return cast{column: column, to: to} }

type cast struct {
	column string
	to     column.Type
}

func (c cast) Column() string { return c.column }

func (c cast) Bind(f *column.Field) (*column.Field, rowgroup.Mapping, error) {
	read, put := readers[f.Type], writers[c.to]
	if read == nil {
		return nil, nil, errors.New("it holds no numbers that can be cast")
	}
	if put.write == nil {
		return nil, nil, errors.New("it cannot be cast to this type")
	}
	mapping := func(dst, value []byte) error {
		n := read(value)
		if !put.write(dst, n) {
			return fmt.Errorf("%v does not fit the type that it is cast to", n)
		}
		return nil
	}
	return &column.Field{Name: f.Name, Kind: column.Fixed, Type: c.to, Width: put.width, Nullable: f.Nullable}, mapping, nil
}

// A number is an integer below 0, one from 0 on, or a float.
type number struct {
	negative int64
	natural  uint64
	float    float64
	isFloat  bool
}

func (n number) String() string {
	switch {
	case n.isFloat:
		return fmt.Sprint(n.float)
	case n.negative < 0:
		return fmt.Sprint(n.negative)
	}
	return fmt.Sprint(n.natural)
}

func integer(v int64) number {
	if v < 0 {
		return number{negative: v}
	}
	return number{natural: uint64(v)}
}

func natural(v uint64) number { return number{natural: v} }
func float(v float64) number  { return number{float: v, isFloat: true} }

// readers read a value of a type.
var readers = map[column.Type]func(b []byte) number{
	column.TypeBool:    func(b []byte) number { return natural(uint64(b[0])) },
	column.TypeInt8:    func(b []byte) number { return integer(int64(int8(b[0]))) },
	column.TypeInt16:   func(b []byte) number { return integer(int64(int16(binary.LittleEndian.Uint16(b)))) },
	column.TypeInt32:   func(b []byte) number { return integer(int64(int32(binary.LittleEndian.Uint32(b)))) },
	column.TypeInt64:   func(b []byte) number { return integer(int64(binary.LittleEndian.Uint64(b))) },
	column.TypeUint8:   func(b []byte) number { return natural(uint64(b[0])) },
	column.TypeUint16:  func(b []byte) number { return natural(uint64(binary.LittleEndian.Uint16(b))) },
	column.TypeUint32:  func(b []byte) number { return natural(uint64(binary.LittleEndian.Uint32(b))) },
	column.TypeUint64:  func(b []byte) number { return natural(binary.LittleEndian.Uint64(b)) },
	column.TypeFloat32: func(b []byte) number { return float(float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))) },
	column.TypeFloat64: func(b []byte) number { return float(math.Float64frombits(binary.LittleEndian.Uint64(b))) },
}

// A writer writes a number as a type; false when it does not fit.
type writer struct {
	width int
	write func(dst []byte, n number) bool
}

var writers = map[column.Type]writer{
	column.TypeInt8:   signed(1, math.MinInt8, math.MaxInt8),
	column.TypeInt16:  signed(2, math.MinInt16, math.MaxInt16),
	column.TypeInt32:  signed(4, math.MinInt32, math.MaxInt32),
	column.TypeInt64:  signed(8, math.MinInt64, math.MaxInt64),
	column.TypeUint8:  unsigned(1, math.MaxUint8),
	column.TypeUint16: unsigned(2, math.MaxUint16),
	column.TypeUint32: unsigned(4, math.MaxUint32),
	column.TypeUint64: unsigned(8, math.MaxUint64),
	column.TypeFloat32: {4, func(dst []byte, n number) bool {
		binary.LittleEndian.PutUint32(dst, math.Float32bits(float32(n.asFloat())))
		return true
	}},
	column.TypeFloat64: {8, func(dst []byte, n number) bool {
		binary.LittleEndian.PutUint64(dst, math.Float64bits(n.asFloat()))
		return true
	}},
}

func (n number) asFloat() float64 {
	switch {
	case n.isFloat:
		return n.float
	case n.negative < 0:
		return float64(n.negative)
	}
	return float64(n.natural)
}

// whole is the integer that a float is, if it is one of 64 bits.
func (n number) whole() (number, bool) {
	switch {
	case !n.isFloat:
		return n, true
	case n.float != math.Trunc(n.float) || n.float < -0x1p63 || n.float >= 0x1p64: // also NaN
		return n, false
	case n.float < 0:
		return integer(int64(n.float)), true
	}
	return natural(uint64(n.float)), true
}

func signed(width int, low, high int64) writer {
	return writer{width, func(dst []byte, n number) bool {
		n, ok := n.whole()
		if !ok || n.negative < low || n.natural > uint64(high) {
			return false
		}
		putInt(dst, n.negative+int64(n.natural))
		return true
	}}
}

func unsigned(width int, high uint64) writer {
	return writer{width, func(dst []byte, n number) bool {
		n, ok := n.whole()
		if !ok || n.negative < 0 || n.natural > high {
			return false
		}
		putInt(dst, int64(n.natural))
		return true
	}}
}

// putInt writes the low bytes of v, as many as dst has.
func putInt(dst []byte, v int64) {
	for i := range dst {
		dst[i] = byte(v >> (8 * i))
	}
}
