package rule

import (
	"github.com/shardfeed/shardfeed/column"

	"github.com/shardfeed/shardfeed/internal/half"
)

// nans passes the floats that are not numbers. Bounds prove nothing of them: statistics leave them
// out.
type nans[T float32 | float64] struct{}

func (nans[T]) match(dst, mask []uint64, a *column.Array) {
	values := asSlice[T](a.Data, a.Len)
	eachRow(dst, mask, a.Len, func(i int) bool { return values[i] != values[i] })
}

func (nans[T]) within(_, _ []byte) (none, all bool) { return false, false }
func (nans[T]) members() [][]byte                   { return nil }

// halfNaNs is nans of float16.
type halfNaNs struct{}

func (halfNaNs) match(dst, mask []uint64, a *column.Array) {
	values := asSlice[uint16](a.Data, a.Len)
	eachRow(dst, mask, a.Len, func(i int) bool { return values[i]&0x7fff > half.Infinity })
}

func (halfNaNs) within(_, _ []byte) (none, all bool) { return false, false }
func (halfNaNs) members() [][]byte                   { return nil }
