package rule

import (
	"math"

	"github.com/shardfeed/shardfeed/column"
)

// newMatcher returns the matcher of an operator and its values for a field that can be compared.
func newMatcher(f *column.Field, o op, v []fitted) matcher {
	switch f.Type {
	case column.TypeBool, column.TypeUint8:
		return newInts[uint8](o, v, 0)
	case column.TypeUint16:
		return newInts[uint16](o, v, 0)
	case column.TypeUint32:
		return newInts[uint32](o, v, 0)
	case column.TypeUint64:
		return newInts[uint64](o, v, 0)
	case column.TypeInt8:
		return newInts[int8](o, v, signBit)
	case column.TypeInt16:
		return newInts[int16](o, v, signBit)
	case column.TypeInt32, column.TypeDate:
		return newInts[int32](o, v, signBit)
	case column.TypeInt64, column.TypeTime, column.TypeTimestamp:
		return newInts[int64](o, v, signBit)
	case column.TypeFloat16:
		return newHalves(o, pick(v, func(x fitted) uint16 { return x.half }))
	case column.TypeFloat32:
		return newFloatTest(o, pick(v, func(x fitted) float32 { return float32(x.float) }), math.Nextafter32)
	case column.TypeFloat64:
		return newFloatTest(o, pick(v, func(x fitted) float64 { return x.float }), math.Nextafter)
	case column.TypeInt96:
		return newWides(o, pick(v, func(x fitted) wideKey { return x.wide }), 2, nil)
	case column.TypeDecimal:
		if f.Width == 8 {
			return newInts[int64](o, v, signBit)
		}
		return newWides(o, pick(v, func(x fitted) wideKey { return x.wide }), f.Width/8, bytesOf(v))
	}
	return newTexts(o, bytesOf(v))
}

func newInts[T integer](o op, v []fitted, bias uint64) ints[T] {
	return ints[T]{rangeTest(o, pick(v, func(x fitted) uint64 { return x.key })), bias}
}

func pick[T any](v []fitted, of func(x fitted) T) []T {
	all := make([]T, len(v))
	for i := range v {
		all[i] = of(v[i])
	}
	return all
}

func bytesOf(v []fitted) [][]byte { return pick(v, func(x fitted) []byte { return x.bytes }) }
