package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

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
func arrayShape(e arrowExtension, feature func() []int) []int {
	if e.name == "arrow.py_extension_type" {
		return feature()
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

// featureShapes are the shapes of the arrays in the features that Hugging Face's library keeps with
// a table, by the names of Fields joined with dots.
func featureShapes(text string) map[string][]int {
	var table struct {
		Info struct{ Features json.RawMessage }
	}
	shapes := map[string][]int{}
	if text != "" && json.Unmarshal([]byte(text), &table) == nil {
		addFeature(shapes, "", table.Info.Features, 0)
	}
	return shapes
}

// addFeature adds the arrays of a feature, which is an object of a type, a struct's members by
// name, or a list of the items' feature.
func addFeature(shapes map[string][]int, path string, text json.RawMessage, depth int) {
	var items []json.RawMessage
	if json.Unmarshal(text, &items) == nil && len(items) == 1 && depth < parquet.MaxSchemaDepth {
		addFeature(shapes, joinPath(path, "element"), items[0], depth+1)
		return
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil || depth == parquet.MaxSchemaDepth {
		return
	}
	var kind string
	if json.Unmarshal(members["_type"], &kind) != nil {
		for name, member := range members {
			addFeature(shapes, joinPath(path, name), member, depth+1)
		}
		return
	}
	if shape := parseShape(members["shape"]); strings.HasPrefix(kind, "Array") && shape != nil {
		shapes[path] = shape
	} else if members["feature"] != nil {
		addFeature(shapes, joinPath(path, "element"), members["feature"], depth+1)
	}
}
