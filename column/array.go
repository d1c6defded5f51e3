package column

// An Array is one node of a batch column, a pre-order tree in Arrow's layout. Two things differ
// from Arrow: a boolean takes one byte, and a List whose Field has a ListSize has no offsets (Arrow
// calls it a fixed-size list).
//
//	kind    Valid         Offsets       Data            Children
//	Fixed   bit per value -             Len*Width       -
//	Binary  bit per value Len+1, bytes  Offsets[Len]    -
//	List    bit per value Len+1, items  -               1: the items
//	Map     bit per value Len+1, pairs  -               1: Struct of key and value
//	Struct  bit per value -             -               one per member, each of Len values
//	Null    -             -             -               -
//
// Valid is nil when no value is null; bit i of byte i/8, least significant first, is 1 when value i
// is present. The bytes under a null are zero.
type Array struct {
	Field    *Field
	Len      int
	Nulls    int
	Valid    []byte
	Offsets  []int32
	Data     []byte
	Children []*Array
}

// An Alloc returns n bytes, 64-byte aligned and zeroed or not, that live as long as the batch. It
// is called once per buffer.
type Alloc func(n int) ([]byte, error)

// IsNull reports whether value i is null.
func (a *Array) IsNull(i int) bool {
	return a.Field.Kind == Null || a.Valid != nil && a.Valid[i>>3]>>(i&7)&1 == 0
}

// Items returns the range of values of Children[0] that the items of list or map i occupy.
func (a *Array) Items(i int) (lo, hi int) {
	if a.Offsets == nil {
		size := a.Field.ListSize
		return i * size, (i + 1) * size
	}
	return int(a.Offsets[i]), int(a.Offsets[i+1])
}
