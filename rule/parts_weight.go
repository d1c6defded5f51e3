package rule

import (
	"fmt"
	"math"

	"github.com/shardfeed/shardfeed/column"
)

// maxRepeats is the most that a row may come: copies leave within one life of their unit, so more
// belong into a source of their own.
const maxRepeats = 255

// Repeats fills m with how often each row of a numeric column comes: floor(w + u), where w is the
// column's value and u in [0, 1) is drawn by the row. The mean over rows of one weight is the
// weight, and a row comes as often in every epoch. first is the number of the column's first row
// among all rows of the manifest; m is as long as the column.
//
// u is x/2^53, x the top 53 bits of mix(s), where s begins as the seed; for 0, which stands for the
// epoch, and then for the row's number, s becomes mix(s) + n. mix is one output of SplitMix64
// (Steele, Lea, Flood, 2014).
func Repeats(weights *column.Array, seed uint64, first int64, m []uint8) error {
	weight, err := weightsOf(weights)
	if err != nil {
		return err
	}
	begun := mix(seed) // + 0
	for i := range m {
		w := weight(i)
		if weights.IsNull(i) || !(w >= 0 && w <= maxRepeats) {
			return badWeight(weights, i, w, first+int64(i))
		}
		m[i] = repeats(w, mix(mix(begun)+uint64(first)+uint64(i))>>11)
	}
	return nil
}

// repeats is floor(w + x/2^53), exactly.
func repeats(w float64, x uint64) uint8 {
	whole, part := math.Modf(w)
	n := uint8(whole)
	if uint64(part*(1<<53))+x >= 1<<53 {
		n++
	}
	return n
}

func mix(s uint64) uint64 {
	s += 0x9e3779b97f4a7c15
	s = (s ^ s>>30) * 0xbf58476d1ce4e5b9
	s = (s ^ s>>27) * 0x94d049bb133111eb
	return s ^ s>>31
}

func badWeight(a *column.Array, i int, w float64, row int64) error {
	got := fmt.Sprint(w)
	if a.IsNull(i) {
		got = "null"
	}
	return &Problem{Field: "Weight", Text: fmt.Sprintf("must be from 0 to %d in every row, got %s in row %d of column %q", maxRepeats, got, row, a.Field.Name)}
}

// CheckWeight says whether values of a column can be weights: those of integers and of float32 and
// float64 can.
func CheckWeight(f *column.Field) error {
	switch f.Type {
	case column.TypeInt8, column.TypeInt16, column.TypeInt32, column.TypeInt64, column.TypeUint8, column.TypeUint16, column.TypeUint32,
		column.TypeUint64, column.TypeFloat32, column.TypeFloat64:
		return nil
	}
	return &Problem{Field: "Weight", Text: fmt.Sprintf("must be a column of integers, float32 or float64, got %q, which is %v", f.Name, f)}
}

// weightsOf gives value i of a numeric column.
func weightsOf(a *column.Array) (func(i int) float64, error) {
	if err := CheckWeight(a.Field); err != nil {
		return nil, err
	}
	switch a.Field.Type {
	case column.TypeInt8:
		return floats[int8](a)
	case column.TypeInt16:
		return floats[int16](a)
	case column.TypeInt32:
		return floats[int32](a)
	case column.TypeInt64:
		return floats[int64](a)
	case column.TypeUint8:
		return floats[uint8](a)
	case column.TypeUint16:
		return floats[uint16](a)
	case column.TypeUint32:
		return floats[uint32](a)
	case column.TypeUint64:
		return floats[uint64](a)
	case column.TypeFloat32:
		return floats[float32](a)
	}
	return floats[float64](a)
}

func floats[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64](a *column.Array) (func(i int) float64, error) {
	v, err := column.Values[T](a)
	return func(i int) float64 { return float64(v[i]) }, err
}
