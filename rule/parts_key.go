package rule

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/shardfeed/shardfeed/column"
)

// A part by key has the rows whose key hashes into its range, so rows of one key are of one part,
// and they stay there when shards are added. The hash is XXH64 with the seed as its own: its top 20
// bits choose the part among the cumulated weights, the next 20 the sample. The bytes that are
// hashed:
//
//	integers, booleans   the value in 8 bytes, little-endian, so that the column's width does not matter
//	dates, times         the number that the column holds, as an integer
//	float32, float64     the bits of the float64, little-endian; -0 is 0, and all NaN are one
//	strings, binary      the bytes, of fixed width too
//	decimals, others     the bytes of column.Array: little-endian two's complement
//	null                 none, as of an empty string
const keyBits = 20

// CheckKey says whether values of a column can decide: those of lists, structs, maps and float16
// cannot.
func CheckKey(f *column.Field) error {
	if f.Kind == column.List || f.Kind == column.Struct || f.Kind == column.Map || f.Type == column.TypeFloat16 {
		return &Problem{Field: "PartKey", Text: fmt.Sprintf("must be a column of single values that are not float16, got %q, which is %v", f.Name, f)}
	}
	return nil
}

// ByKey clears the bits of the rows that are not of the part by the values of their key. With the
// entries of a dictionary as rows, it tells which entries are of the part.
func (m *Marker) ByKey(key *column.Array, keep []uint64) error {
	if err := CheckKey(key.Field); err != nil || m.part.All() {
		return err
	}
	value, err := keyValues(key)
	if err != nil {
		return err
	}
	var buf [8]byte
	for i := range key.Len {
		var b []byte
		if !key.IsNull(i) {
			b = value(i, &buf)
		}
		if !m.part.hasHash(hashKey(m.part.split.Seed, b)) {
			keep[i/64] &^= 1 << (i % 64)
		}
	}
	return nil
}

// hasHash says whether keys of a hash are of the part.
func (p *Part) hasHash(h uint64) bool {
	if p.ratio != nil {
		x := int64(h >> (64 - keyBits))
		for _, w := range p.ratio.Weights()[:p.at] {
			x -= w
		}
		if x < 0 || x >= p.ratio.Weights()[p.at] {
			return false
		}
	}
	return p.sample == nil || int64(h>>(64-2*keyBits)&(1<<keyBits-1)) < p.sample.Weights()[0]
}

// keyValues gives the bytes of value i; those of numbers are in buf.
func keyValues(a *column.Array) (func(i int, buf *[8]byte) []byte, error) {
	switch a.Field.Type {
	case column.TypeFloat32, column.TypeFloat64, column.TypeBool, column.TypeInt8, column.TypeInt16, column.TypeInt32, column.TypeInt64,
		column.TypeUint8, column.TypeUint16, column.TypeUint32, column.TypeUint64, column.TypeDate, column.TypeTime, column.TypeTimestamp:
		number, err := keyNumbers(a)
		return func(i int, buf *[8]byte) []byte {
			binary.LittleEndian.PutUint64(buf[:], number(i))
			return buf[:]
		}, err
	case column.TypeUnknown:
		return nil, nil // all null
	}
	v, err := column.Bytes(a)
	return func(i int, _ *[8]byte) []byte { return v.At(i) }, err
}

// keyNumbers gives value i as 64 bits.
func keyNumbers(a *column.Array) (func(i int) uint64, error) {
	switch a.Field.Type {
	case column.TypeFloat32:
		return numbers(a, func(v float32) uint64 { return floatBits(float64(v)) })
	case column.TypeFloat64:
		return numbers(a, floatBits)
	case column.TypeBool:
		return numbers(a, func(v bool) uint64 {
			if v {
				return 1
			}
			return 0
		})
	case column.TypeUint8:
		return numbers(a, func(v uint8) uint64 { return uint64(v) })
	case column.TypeInt8:
		return numbers(a, func(v int8) uint64 { return uint64(v) })
	case column.TypeInt16:
		return numbers(a, func(v int16) uint64 { return uint64(v) })
	case column.TypeInt32, column.TypeDate:
		return numbers(a, func(v int32) uint64 { return uint64(v) })
	case column.TypeUint16:
		return numbers(a, func(v uint16) uint64 { return uint64(v) })
	case column.TypeUint32:
		return numbers(a, func(v uint32) uint64 { return uint64(v) })
	case column.TypeUint64:
		return numbers(a, func(v uint64) uint64 { return v })
	}
	return numbers(a, func(v int64) uint64 { return uint64(v) })
}

func numbers[T column.Value](a *column.Array, of func(T) uint64) (func(i int) uint64, error) {
	v, err := column.Values[T](a)
	return func(i int) uint64 { return of(v[i]) }, err
}

// floatBits gives equal numbers equal bits, and all NaN the same.
func floatBits(x float64) uint64 {
	switch {
	case x == 0:
		return 0
	case math.IsNaN(x):
		return 0x7ff8000000000000
	}
	return math.Float64bits(x)
}
