package schema

import (
	"reflect"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

func TestFixedShapeTensor(t *testing.T) {
	for _, c := range []struct {
		metadata string
		size     int
		want     *column.Tensor
	}{
		{`{"shape":[2,3]}`, 6, &column.Tensor{Shape: []int{2, 3}}},
		{`{"shape":[2,3],"permutation":[0,1],"dim_names":["h","w"]}`, 6, &column.Tensor{Shape: []int{2, 3}}},
		{`{"shape":[100,200,500],"permutation":[2,0,1]}`, 10_000_000, &column.Tensor{Shape: []int{500, 100, 200}, Order: []int{2, 0, 1}}},
		{`{"shape":[6]}`, 6, nil},
		{`{"shape":[]}`, 1, nil},
		{`{"shape":[2,3]}`, 5, nil},
		{`{"shape":[0,3]}`, 0, nil},
		{`{"shape":[-2,-3]}`, 6, nil},
		{`{"shape":[4294967296,4294967296]}`, 0, nil},
		{`{"shape":[2,3],"permutation":[1]}`, 6, nil},
		{`{"shape":[2,3],"permutation":[1,1]}`, 6, nil},
		{`{"shape":[2,3],"permutation":[1,2]}`, 6, nil},
		{`[2,3]`, 6, nil},
		{``, 6, nil},
	} {
		t.Run(c.metadata, func(t *testing.T) {
			if got := fixedShapeTensor(arrowExtension{"arrow.fixed_shape_tensor", c.metadata}, c.size); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
	if got := fixedShapeTensor(arrowExtension{"other", `{"shape":[2,3]}`}, 6); got != nil {
		t.Errorf("another extension is %v", got)
	}
}

func TestArrayShape(t *testing.T) {
	const features = `{"info": {"features": {
		"a": {"shape": [3, 4], "dtype": "float32", "_type": "Array2D"},
		"y": {"names": ["cat", "dog"], "_type": "ClassLabel"}, "img": {"_type": "Image"},
		"l": {"feature": {"shape": [2, 2], "dtype": "int64", "_type": "Array2D"}, "_type": "Sequence"},
		"old": [{"shape": [5, 6], "dtype": "int64", "_type": "Array2D"}],
		"s": {"m": {"shape": [null, 2, 7], "dtype": "int8", "_type": "Array3D"}, "v": {"dtype": "int8", "_type": "Value"}}}}}`
	pickled := arrowExtension{"arrow.py_extension_type", "\x80\x04"}
	own := "datasets.features.features.Array2DExtensionType"
	for _, c := range []struct {
		name string
		e    arrowExtension
		path string
		want []int
	}{
		{"own metadata", arrowExtension{own, `[[3, 4], "float32"]`}, "", []int{3, 4}},
		{"any length", arrowExtension{own, `[[null, 4], "float32"]`}, "", []int{0, 4}},
		{"negative", arrowExtension{own, `[[-1, 4], "float32"]`}, "", nil},
		{"no metadata", arrowExtension{own, ``}, "a", nil},
		{"pickled", pickled, "a", []int{3, 4}},
		{"pickled in a list", pickled, "l.element", []int{2, 2}},
		{"pickled in a list of old", pickled, "old.element", []int{5, 6}},
		{"pickled in a struct", pickled, "s.m", []int{0, 2, 7}},
		{"pickled, no array", pickled, "s.v", nil},
		{"pickled, a class", pickled, "y", nil},
		{"no extension", arrowExtension{}, "a", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := arrayShape(c.e, parseFeatures(features)[c.path].shape); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// Whatever the features of a table are, they name arrays or nothing.
func TestFeaturesMalformed(t *testing.T) {
	deep := slices.Repeat([]byte("["), 9000)
	for _, text := range []string{"", "x", "[]", `{"info": 1}`, `{"info": {"features": [1, 2]}}`, `{"info": {"features": ` + string(deep)} {
		if got := parseFeatures(text); len(got) > 0 {
			t.Errorf("%.40s: %v", text, got)
		}
	}
}

func TestPlaces(t *testing.T) {
	for _, c := range []struct{ shape, order, want []int }{
		{[]int{3, 2}, []int{1, 0}, []int{0, 3, 1, 4, 2, 5}},
		{[]int{2, 1, 3}, []int{2, 1, 0}, []int{0, 2, 4, 1, 3, 5}},
		{[]int{3, 1, 2}, []int{2, 0, 1}, []int{0, 3, 1, 4, 2, 5}},
	} {
		x := &column.Tensor{Shape: c.shape, Order: c.order}
		if got := x.Places(); !slices.Equal(got, c.want) {
			t.Errorf("%v in order %v: places are %v, want %v", c.shape, c.order, got, c.want)
		}
	}
}
