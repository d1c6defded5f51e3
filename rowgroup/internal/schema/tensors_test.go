package schema

import (
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

// A tensor is declared of lists of all of its items, or of lists of lists; of others it says
// nothing.
func TestDeclaredTensors(t *testing.T) {
	const (
		flat   = `optional group x (LIST) { repeated group list { optional float element; } }`
		nested = `optional group x (LIST) { repeated group list { optional group element (LIST) { repeated group list { optional float element; } } } }`
		texts  = `optional group x (LIST) { repeated group list { optional binary element (UTF8); } }`
	)
	tensor, turned := newTensor([]int{2, 3}), newTensor([]int{2, 3})
	turned.Order = []int{1, 0}
	for _, c := range []struct {
		name, schema string
		sizes        map[string]listSize
		want         string
	}{
		{"flat", flat, map[string]listSize{"x": {6, tensor}}, "tensor<float>[2, 3]"},
		{"flat, turned", flat, map[string]listSize{"x": {6, turned}}, "tensor<float>[2, 3]"},
		{"nested", nested, map[string]listSize{"x": {2, tensor}, "x.element": {size: 3}}, "tensor<float>[2, 3]"},
		{"nested, turned", nested, map[string]listSize{"x": {2, turned}, "x.element": {size: 3}}, "list<list<float>[3]>[2]"},
		{"lists of one dimension", flat, map[string]listSize{"x": {2, tensor}, "x.element": {size: 3}}, "list<float>[2]"},
		{"other lists within", nested, map[string]listSize{"x": {2, tensor}, "x.element": {size: 4}}, "list<list<float>[4]>[2]"},
		{"lists of lists of all items", nested, map[string]listSize{"x": {6, tensor}}, "list<list<float>>[6]"},
		{"texts", texts, map[string]listSize{"x": {6, tensor}}, "list<string>[6]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fileSchemaOf(t, c.schema)
			declared{sizes: c.sizes}.set(s.Columns, "")
			if got := s.Columns[0].Field.String(); got != c.want {
				t.Errorf("it is %s, want %s", got, c.want)
			}
		})
	}
}

// Tensors of two shapes have no common type; with lists they are lists.
func TestUniteTensors(t *testing.T) {
	list := func(size int, shape []int, order ...int) column.Field {
		f := column.Field{Kind: column.List, ListSize: size, Tensor: newTensor(shape)}
		if order != nil {
			f.Tensor.Order = order
		}
		return f
	}
	for _, c := range []struct {
		name   string
		a, b   column.Field
		ok     bool
		tensor bool
		size   int
	}{
		{"equal", list(6, []int{2, 3}), list(6, []int{2, 3}), true, true, 6},
		{"other shape", list(6, []int{2, 3}), list(6, []int{3, 2}), false, false, 0},
		{"other order", list(6, []int{2, 3}), list(6, []int{2, 3}, 1, 0), false, false, 0},
		{"lists of one length", list(6, []int{2, 3}), list(6, nil), true, false, 6},
		{"ragged lists", list(0, nil), list(6, []int{2, 3}), true, false, 0},
		{"nulls", list(6, []int{2, 3}), column.Field{Kind: column.Null}, true, true, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := uniteTypes(c.a, c.b)
			if ok != c.ok || ok && ((got.Tensor != nil) != c.tensor || got.ListSize != c.size) {
				t.Errorf("got %+v, %v", got, ok)
			}
		})
	}
}

// The error about shards of two shapes shows both and the reason.
func TestTensorsOfTwoShapes(t *testing.T) {
	root := Unite([]*File{tensorSchema(t, 2, 3), tensorSchema(t, 2, 3), tensorSchema(t, 3, 2)})
	_, err := Project(root, nil, false, []string{"a", "b", "c"}, []int{1, 1, 1})
	const want = `c: column "x": its type is tensor<float>[3, 2] here and tensor<float>[2, 3] in a (a batch needs tensors of one shape;`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want %s", err, want)
	}
}

func tensorSchema(t *testing.T, shape ...int) *File {
	s := fileSchemaOf(t, `optional group x (LIST) { repeated group list { optional float element; } }`)
	declared{sizes: map[string]listSize{"x": {itemsOf(shape), newTensor(shape)}}}.set(s.Columns, "")
	return s
}
