package schema

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/shardfeed/shardfeed/column"
)

// A listSize is a writer's declaration of lists: the length of all, and the shape of the tensors
// that they hold.
type listSize struct {
	size   int
	tensor *column.Tensor // nil: they are lists
}

// A declared holds a writer's declarations of columns beyond parquet's types, by the names of
// Fields joined with dots.
type declared struct {
	sizes    map[string]listSize
	features map[string]feature
}

// Declarations travel as bytes, so that they can be hashed and stored beside a schema. For each
// list of a declared length, sorted by path, there are
//
//	uvarint  length of the path, and the path
//	uvarint  length of the lists
//	uvarint  dimensions D of the tensors; 0: they are lists
//	uvarint  length of each dimension, D times
//	uvarint  1 if the dimensions are stored in another order, else 0
//	uvarint  stored dimension of each dimension, D times, only after a 1

func formatDeclared(sizes map[string]listSize, features map[string]feature) []byte {
	var b []byte
	for _, p := range slices.Sorted(maps.Keys(sizes)) {
		b = binary.AppendUvarint(appendText(b, p), uint64(sizes[p].size))
		b = appendTensor(b, sizes[p].tensor)
	}
	return appendFeatures(b, features)
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendTensor(b []byte, t *column.Tensor) []byte {
	if t == nil {
		return append(b, 0)
	}
	b = appendInts(binary.AppendUvarint(b, uint64(len(t.Shape))), t.Shape)
	if t.Order == nil {
		return append(b, 0)
	}
	return appendInts(append(b, 1), t.Order)
}

func appendInts(b []byte, all []int) []byte {
	for _, n := range all {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

// parseDeclared declares nothing when the bytes are malformed, which is always right.
func parseDeclared(b []byte) declared {
	r := declarationReader{b: b}
	all := declared{sizes: map[string]listSize{}, features: map[string]feature{}}
	for len(r.b) > 0 {
		path := r.text()
		s := listSize{size: r.number(maxListSize)}
		if s.size == 0 {
			all.features[path] = r.feature()
		} else {
			s.tensor = r.tensor(s.size)
			all.sizes[path] = s
		}
		if r.bad {
			return declared{}
		}
	}
	return all
}

// set notes what is declared on the fields, which it finds by their names.
func (d declared) set(nodes []*Node, parent string) {
	for _, n := range nodes {
		path := joinPath(parent, n.Field.Name)
		if n.Field.Kind == column.List {
			n.Field.ListSize = d.sizes[path].size
		}
		d.features[path].declare(n.Field)
		d.set(n.Children, path)
		if t := d.sizes[path].tensor; t != nil && holdsTensors(n.Field, t) {
			n.Field.Tensor = t
		}
	}
}

// A declarationReader reads what formatDeclared wrote.
type declarationReader struct {
	b   []byte
	bad bool
}

func (r *declarationReader) number(most int) int {
	n, k := binary.Uvarint(r.b)
	if k <= 0 || n > uint64(most) {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[k:]
	return int(n)
}

func (r *declarationReader) numbers(n, most int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = r.number(most)
	}
	return all
}

func (r *declarationReader) text() string {
	n := r.number(len(r.b))
	if n > len(r.b) {
		r.b, r.bad = nil, true
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *declarationReader) tensor(size int) *column.Tensor {
	dims := r.number(maxDims)
	if dims == 0 {
		return nil
	}
	t := newTensor(r.numbers(dims, maxListSize))
	if r.number(1) == 0 {
		r.bad = r.bad || t == nil || t.Shape[0] != size && itemsOf(t.Shape) != size
		return t
	}
	order := r.numbers(dims, dims-1)
	if t == nil || !isOrder(order, dims) || itemsOf(t.Shape) != size {
		r.bad = true
		return nil
	}
	t.Order = order
	return t
}
