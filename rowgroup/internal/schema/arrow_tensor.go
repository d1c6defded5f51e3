package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/column"
)

// maxListSize bounds the declared length of a list; longer ones are read as ragged.
const maxListSize = 1 << 30

// maxDims bounds the dimensions of a tensor; one of more is a list.
const maxDims = 64

// An arrowExtension is the extension type of a field of an ARROW:schema.
type arrowExtension struct{ name, metadata string }

// fixedShapeTensor returns the shape of arrow.fixed_shape_tensor in lists of size items; nil if the
// extension is another one, or does not fit the lists. See the canonical extensions of the Arrow
// format.
func fixedShapeTensor(e arrowExtension, size int) *column.Tensor {
	if e.name != "arrow.fixed_shape_tensor" {
		return nil
	}
	var m struct {
		Shape       []int
		Permutation []int
	}
	if json.Unmarshal([]byte(e.metadata), &m) != nil || itemsOf(m.Shape) != size {
		return nil
	}
	dims := len(m.Shape)
	if m.Permutation == nil || slices.IsSorted(m.Permutation) && isOrder(m.Permutation, dims) {
		return newTensor(m.Shape)
	}
	if !isOrder(m.Permutation, dims) {
		return nil
	}
	shape := make([]int, dims)
	for i, stored := range m.Permutation {
		shape[i] = m.Shape[stored]
	}
	t := newTensor(shape)
	if t != nil {
		t.Order = m.Permutation
	}
	return t
}

// newTensor is a tensor of a shape; nil where a dimension has no declared length, and for less than
// two dimensions, which a list has.
func newTensor(shape []int) *column.Tensor {
	if len(shape) < 2 || len(shape) > maxDims || itemsOf(shape) <= 0 {
		return nil
	}
	return &column.Tensor{Shape: shape}
}

// itemsOf returns the number of items of a shape, or 0 if one of its sizes is not positive or there
// are too many items.
func itemsOf(shape []int) int {
	n := 1
	for _, d := range shape {
		if d <= 0 || d > maxListSize/n {
			return 0
		}
		n *= d
	}
	return n
}

// isOrder reports whether the numbers are a permutation of 0 to dims-1.
func isOrder(order []int, dims int) bool {
	if len(order) != dims {
		return false
	}
	for i := range dims {
		if !slices.Contains(order, i) {
			return false
		}
	}
	return true
}

// arrayShape returns the shape of one of Hugging Face's arrays, Array2D to Array5D, which are as
// lists of lists; 0 is a dimension of any length. Versions before 2.15 pickled the type, so its
// shape is only among the features of the table.
func arrayShape(e arrowExtension, feature []int) []int {
	if e.name == "arrow.py_extension_type" {
		return feature
	}
	if !strings.HasPrefix(e.name, "datasets.features.features.Array") {
		return nil
	}
	var parts []json.RawMessage
	if json.Unmarshal([]byte(e.metadata), &parts) != nil || len(parts) == 0 {
		return nil
	}
	return parseShape(parts[0])
}

// parseShape reads a shape in JSON, in which null is a dimension of any length.
func parseShape(text []byte) []int {
	var shape []int // null leaves 0
	if json.Unmarshal(text, &shape) != nil || len(shape) == 0 || slices.Min(shape) < 0 {
		return nil
	}
	return shape
}
