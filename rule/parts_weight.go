package rule

import (
	"fmt"
	"math"

	"github.com/shardfeed/shardfeed/column"
)

// maxRepeats is the most that a row may come: copies leave within one life of their unit, so more
// belong into a source of their own.
const maxRepeats = 255

// Repeats fills m with the number of times that each row of a block is read: floor(w + u), where w
// is the value of a numeric column and u in [0, 1) is drawn by the row. The mean over rows of one
// weight is the weight, and a row comes as often in every epoch. first is the number of the block's
// first row among all rows of the manifest; m has an element for each row.
//
// A row whose bit in keep is 0 is never read: row i is bit i%64 of word i/64. nil keeps all.
//
// u is x/2^53, where x is the top 53 bits of mix(s). s starts as the seed; for 0 (the epoch) and
// then for the row's number, s becomes mix(s) + n. mix is one output of SplitMix64 (Steele, Lea,
// Flood, 2014).
func Repeats(weights Column, seed uint64, first int64, keep []uint64, m []uint8) error {
	if err := checkInput(&weights, len(m), CheckWeight); err != nil {
		return err
	}
	present := make([]uint64, wordsFor(len(m)))
	weights.present(present, len(m))
	entry, value := weights.entries(), floatsOf(weights.Values)
	begun := mix(seed) // + 0
	for i := range m {
		if keep != nil && keep[i/64]>>(i%64)&1 == 0 {
			m[i] = 0
			continue
		}
		if present[i/64]>>(i%64)&1 == 0 {
			return badWeight(&weights, "null", first+int64(i))
		}
		w := value(entry(i))
		if !(w >= 0 && w <= maxRepeats) {
			return badWeight(&weights, fmt.Sprint(w), first+int64(i))
		}
		m[i] = repeats(w, mix(mix(begun)+uint64(first)+uint64(i))>>11)
	}
	return nil
}

// entries gives the place of a row's value among Values.
func (c *Column) entries() func(row int) int {
	switch {
	case c.Constant:
		return func(int) int { return 0 }
	case c.Codes == nil:
		return func(row int) int { return row }
	}
	codes, width := c.Codes, c.CodeWidth
	return func(row int) int {
		code := 0
		for i := range width {
			code |= int(codes[row*width+i]) << (8 * i)
		}
		return code
	}
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

func badWeight(c *Column, got string, row int64) error {
	return wrong("Weight", nil, "must be from 0 to %d in every row, got %s in row %d of column %q", maxRepeats, got, row, c.Values.Field.Name)
}

// CheckWeight returns an error if a column cannot be a weight: integers, float32 and float64 can.
func CheckWeight(f *column.Field) error {
	switch f.Type {
	case column.TypeInt8, column.TypeInt16, column.TypeInt32, column.TypeInt64, column.TypeUint8, column.TypeUint16, column.TypeUint32,
		column.TypeUint64, column.TypeFloat32, column.TypeFloat64:
		return nil
	}
	return wrong("Weight", nil, "must be a column of integers, float32 or float64, got %q, which is %v", f.Name, f)
}

// floatsOf gives value i of a column that CheckWeight allows.
func floatsOf(a *column.Array) func(i int) float64 {
	switch a.Field.Type {
	case column.TypeInt8:
		return floatsAs[int8](a)
	case column.TypeInt16:
		return floatsAs[int16](a)
	case column.TypeInt32:
		return floatsAs[int32](a)
	case column.TypeInt64:
		return floatsAs[int64](a)
	case column.TypeUint8:
		return floatsAs[uint8](a)
	case column.TypeUint16:
		return floatsAs[uint16](a)
	case column.TypeUint32:
		return floatsAs[uint32](a)
	case column.TypeUint64:
		return floatsAs[uint64](a)
	case column.TypeFloat32:
		return floatsAs[float32](a)
	}
	return floatsAs[float64](a)
}

func floatsAs[T integer | float32 | float64](a *column.Array) func(i int) float64 {
	if len(a.Data) == 0 { // all are null
		return func(int) float64 { return 0 }
	}
	v := asSlice[T](a.Data, a.Len)
	return func(i int) float64 { return float64(v[i]) }
}
