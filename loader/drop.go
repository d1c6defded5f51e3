package loader

import (
	"fmt"

	"github.com/shardfeed/shardfeed/column"
)

// sameLength returns the first row whose lists in a and b differ in length.
func sameLength(a, b *column.Array) (row int, err error) {
	for row := range a.Len {
		lo, hi := a.Items(row)
		from, to := b.Items(row)
		if hi-lo != to-from {
			return row, fmt.Errorf("it has a list of %d items, and must have as many, %d,", hi-lo, to-from)
		}
	}
	return 0, nil
}

// drop leaves only the items that stay in the lists of an array, which have offsets.
func drop(a *column.Array, stay []bool) {
	n, at := int32(0), 0
	for row, end := range a.Offsets[1:] {
		for ; at < int(end); at++ {
			if stay[at] {
				n++
			}
		}
		a.Offsets[row+1] = n
	}
	compact(a.Children[0], stay)
}

// compact moves the values that stay to the front of an array, with their nulls.
func compact(a *column.Array, stay []bool) {
	n := 0
	for i, s := range stay {
		if s {
			if n < i {
				moveValid(a, i, n)
			}
			n++
		}
	}
	switch f := a.Field; {
	case f.Kind == column.Fixed:
		compactBytes(a, f.Width, stay)
	case f.Kind == column.Struct:
		for _, c := range a.Children {
			compact(c, stay)
		}
	case f.Kind == column.List && f.ListSize > 0:
		compact(a.Children[0], repeated(stay, f.ListSize))
	case f.Kind == column.Binary:
		a.Data = a.Data[:compactOffsets(a, stay, func(to, lo, hi int32) { copy(a.Data[to:], a.Data[lo:hi]) })]
	case f.Kind != column.Null: // lists and maps
		below := make([]bool, a.Children[0].Len)
		compactOffsets(a, stay, func(_, lo, hi int32) {
			for i := lo; i < hi; i++ {
				below[i] = true
			}
		})
		compact(a.Children[0], below)
	}
	a.Len, a.Nulls = n, countNulls(a, n)
}

// compactOffsets moves the offsets of the values that stay. Each is called with the range of a
// value and its new start. It returns the new end.
func compactOffsets(a *column.Array, stay []bool, each func(to, lo, hi int32)) (end int32) {
	n := 0
	lo := a.Offsets[0]
	end = lo
	for i, s := range stay {
		hi := a.Offsets[i+1]
		if s {
			each(end, lo, hi)
			end += hi - lo
			n++
			a.Offsets[n] = end
		}
		lo = hi
	}
	a.Offsets = a.Offsets[:n+1]
	return end
}

func compactBytes(a *column.Array, width int, stay []bool) {
	n := 0
	for i, s := range stay {
		if s {
			n += copy(a.Data[n:], a.Data[i*width:(i+1)*width])
		}
	}
	a.Data = a.Data[:n]
}

// repeated has each value n times.
func repeated(stay []bool, n int) []bool {
	all := make([]bool, 0, n*len(stay))
	for _, s := range stay {
		for range n {
			all = append(all, s)
		}
	}
	return all
}

// moveValid gives value i the validity of a later one.
func moveValid(a *column.Array, from, to int) {
	switch {
	case a.Valid == nil:
	case a.IsNull(from):
		a.Valid[to>>3] &^= 1 << (to & 7)
	default:
		a.Valid[to>>3] |= 1 << (to & 7)
	}
}

// countNulls counts the nulls of the first n values. Without any, no validity is left.
func countNulls(a *column.Array, n int) (nulls int) {
	if a.Field.Kind == column.Null {
		return n
	}
	for i := range n {
		if a.IsNull(i) {
			nulls++
		}
	}
	if nulls == 0 {
		a.Valid = nil
	}
	return nulls
}
