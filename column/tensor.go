package column

import (
	"fmt"
	"slices"
	"strings"
)

// A Tensor is the shape of the values of a List. Shards store them in one of two ways: as lists of
// all items, row by row, or as lists of lists. Batches have lists of lists, one in the other, so
// that a column has the shape [rows, Shape...].
type Tensor struct {
	Shape []int // of a value in batches, at least two dimensions

	// Order has the stored dimension of each dimension of Shape, where lists of all items store
	// them in another order; else nil.
	Order []int

	// Flat is the List of all items that a List of lists is made of; nil where values are as
	// stored.
	Flat *Field
}

// Equal reports whether two tensors have the same shape and layout; both may be nil.
func (t *Tensor) Equal(u *Tensor) bool {
	if t == nil || u == nil {
		return t == u
	}
	return slices.Equal(t.Shape, u.Shape) && slices.Equal(t.Order, u.Order)
}

// String is the shape: "[2, 3]".
func (t *Tensor) String() string {
	return strings.ReplaceAll(fmt.Sprint(t.Shape), " ", ", ")
}

// Places returns where the items of a stored value are, in the order of Shape.
func (t *Tensor) Places() []int {
	strides, stride := make([]int, len(t.Shape)), 1
	for stored := len(t.Shape) - 1; stored >= 0; stored-- {
		i := slices.Index(t.Order, stored)
		strides[i] = stride
		stride *= t.Shape[i]
	}
	places := []int{0}
	for i, n := range t.Shape {
		wider := make([]int, 0, len(places)*n)
		for _, p := range places {
			for k := range n {
				wider = append(wider, p+k*strides[i])
			}
		}
		places = wider
	}
	return places
}

// Innermost returns the items within all lists, or the field itself if it is not a List.
func (f *Field) Innermost() *Field {
	for f.Kind == List {
		f = f.Children[0]
	}
	return f
}
